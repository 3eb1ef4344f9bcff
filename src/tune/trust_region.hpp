#pragma once
// A part of a space around its best point, small enough for a Gaussian process to describe
// (TSCompiler, section 5.1).

#include <optional>
#include <vector>

#include "src/tune/gaussian_process.hpp"

namespace dyn::tune {

struct TrustRegionSettings {
  double first_length = 0.5, most_length = 1;  ///< of its sides, in shares of a parameter's range
  double least_length = 0.06;                  ///< a region that is smaller is given up
  int successes = 3;                           ///< in a row: the region grows
  int failures = 4;                            ///< in a row: it shrinks
  double worth = 1e-3;                         ///< of the logarithm of a value: less is no success
  std::size_t most_points = 160;               ///< the process sees so many, the latest
};

/// Values here are logarithms.
class TrustRegion {
 public:
  TrustRegion(const Space& space, Point center, const TrustRegionSettings& settings);

  /// A batch's answers that are this region's own.
  void observe(const std::vector<Point>& points, const std::vector<double>& values);
  bool has_values() const noexcept { return !values_.empty(); }
  const Point& center() const noexcept { return center_; }
  double best() const noexcept { return best_; }
  double length() const noexcept { return length_; }
  /// It shrank below its least length, or nothing untried was found in it.
  bool is_over() const noexcept { return over_; }
  void give_up() noexcept { over_ = true; }

  /// Points in it that are legal and untried, projected where the drawn ones are not allowed; at
  /// most so many.
  std::vector<Point> candidates(std::size_t most, const Untried& untried, Random& random) const;
  /// So many draws of the process at the candidates, of which there is at least one. Preferences
  /// that are not met count as `preference` standard deviations each.
  std::vector<std::vector<double>> draws(std::size_t count, const std::vector<Point>& candidates,
                                         double preference, Random& random);

 private:
  Point drawn_point(Random& random) const;
  std::vector<double> means_of(const std::vector<Point>& points, double preference) const;

  const Space& space_;
  TrustRegionSettings settings_;
  GaussianProcess process_;
  Point center_;
  double best_ = 0, length_;
  int successes_ = 0, failures_ = 0;
  bool over_ = false, is_fitted_ = false;
  std::vector<Point> points_;
  std::vector<double> values_;
};

}  // namespace dyn::tune
