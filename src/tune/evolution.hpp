#pragma once
// Evolution in the manner of Ansor (section 5.1 of its paper), which DietCode's search is: the best
// points so far are crossed and mutated.

#include "src/tune/search.hpp"

namespace dyn::tune {

struct EvolutionSettings {
  std::size_t population = 24;  ///< of the best that have children
  std::size_t children = 8;     ///< asked for at once
  double crossed = 0.7;         ///< the share of children with two parents
  double fresh = 0.1;           ///< the share of children that are random points
};

/// Begins with the space's seeds and random points.
class EvolutionSearch final : public Search {
 public:
  EvolutionSearch(const Space& space, std::uint64_t seed, const EvolutionSettings& settings = {});
  std::vector<Point> ask() override;
  void tell(std::span<const double> values) override;

 private:
  struct Rated {
    Point point;
    double value;
  };
  const Point& parent();
  Point crossed(const Point& a, const Point& b);
  void mutate(Point& point);
  /// None where no child of many tries is legal and new.
  std::optional<Point> child();

  const Space& space_;
  EvolutionSettings settings_;
  Untried untried_;
  Random random_;
  std::vector<Point> first_;  ///< seeds that are still to be asked for, the last one next
  std::vector<Rated> best_;   ///< in ascending order of values
  std::vector<Point> asked_;
};

}  // namespace dyn::tune
