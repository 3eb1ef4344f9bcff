#pragma once
// Functions of one variable, linear between points.

#include <cstdint>
#include <vector>

namespace dyn::choice {

/// Linear between its points, beyond them as between the nearest two, and never below 0. One point:
/// proportional to it. Immutable; thread-safe.
class PiecewiseLinear {
 public:
  struct Point {
    double x = 0, y = 0;
  };

  PiecewiseLinear() = default;
  /// Through all points, which ascend along x; x above 0.
  static PiecewiseLinear through(std::vector<Point> points);
  /// Continuous, of at most three pieces that meet at points' x, with the least sum of squares of
  /// relative errors at the points, which ascend along x; x and y above 0. One or two points:
  /// through().
  static PiecewiseLinear fitted(const std::vector<Point>& points);

  double operator()(double x) const;
  const std::vector<Point>& points() const { return points_; }

 private:
  std::vector<Point> points_;
};

}  // namespace dyn::choice
