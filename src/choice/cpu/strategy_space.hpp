#pragma once
// The programs of a contraction as points of a discrete space: every tile that has code, any number
// of blocks and slices, every move, and two to four regions, beyond what make_candidates() and
// select_cover() look at.

#include <cstdint>
#include <vector>

#include "src/choice/cpu/select.hpp"
#include "src/rkernel/target/program_space.hpp"

namespace dyn::choice {

class StrategySpace {
 public:
  /// `shapes`: of all forms that may compute the sizes, at least one. `machine` and `candidates`
  /// must outlive it.
  StrategySpace(const Machine& machine, const CandidateSet& candidates,
                std::vector<ContractionShape> shapes, int threads);

  using Axis = rkernel::ProgramSpace::Axis;
  using Point = rkernel::ProgramSpace::Point;
  const std::vector<Axis>& axes() const noexcept { return axes_; }
  /// The choice of a point, with its predicted time, and the shape that it is for; legal or not.
  /// Where a value says nothing (cuts of one region), it must be the first of its axis.
  Choice choice_at(const Point& point) const;
  const ContractionShape& shape_at(const Point& point) const;
  /// There is code for it, and no value that says nothing is another than the first.
  bool allows(const Point& point) const;
  /// The predicted time is at most so many times that of the best program that select() considers.
  static constexpr double hopeless = 4;
  bool promises(const Point& point) const;
  /// Preferences that are not met: full tiles of the tallest kind, blocks of whole tiles, as many
  /// tickets for each thread.
  double unmet(const Point& point) const;
  /// The points that select() considers for each form, best predicted first, at most so many.
  std::vector<Point> seeds(std::size_t most) const;

 private:
  struct Considered;
  std::vector<Considered> considered() const;
  void add_axes(const std::vector<Considered>& choices);
  rkernel::Strategy strategy_at(const ContractionShape& shape, const Point& point, std::int64_t m,
                                std::int64_t n, bool is_first) const;
  Point point_of(const Considered& choice) const;

  const Machine& machine_;
  const CandidateSet& candidates_;
  std::vector<ContractionShape> shapes_;
  int threads_;
  std::vector<Axis> axes_;
  std::vector<Point> seeds_;
  double best_seconds_ = 0;
};

}  // namespace dyn::choice
