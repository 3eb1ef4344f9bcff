#include "src/choice/policies/shared/piecewise_linear.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace dyn::choice {
namespace {

using Point = PiecewiseLinear::Point;

constexpr std::size_t most_knots = 4;  ///< of three pieces
constexpr double least_pivot = 1e-12;

using Row = std::array<double, most_knots + 1>;

/// Solves `count` equations, whose last column is the right side, by elimination; nullopt where
/// they do not decide.
std::optional<std::array<double, most_knots>> solved(std::array<Row, most_knots> rows,
                                                     std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t pivot = i;
    for (std::size_t j = i + 1; j < count; ++j)
      if (std::abs(rows[j][i]) > std::abs(rows[pivot][i])) pivot = j;
    if (std::abs(rows[pivot][i]) < least_pivot) return std::nullopt;
    std::swap(rows[i], rows[pivot]);
    for (std::size_t j = 0; j < count; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (std::size_t c = i; c < count; ++c) rows[j][c] -= factor * rows[i][c];
      rows[j][most_knots] -= factor * rows[i][most_knots];
    }
  }
  std::array<double, most_knots> values{};
  for (std::size_t i = 0; i < count; ++i) values[i] = rows[i][most_knots] / rows[i][i];
  return values;
}

/// Weights of the knots' values in the value at x: hat functions.
std::array<double, most_knots> hats(const std::vector<double>& knots, double x) {
  std::array<double, most_knots> weights{};
  std::size_t right = 1;
  while (right + 1 < knots.size() && x > knots[right]) ++right;
  const double share = (x - knots[right - 1]) / (knots[right] - knots[right - 1]);
  weights[right - 1] = 1 - share;
  weights[right] = share;
  return weights;
}

struct Fit {
  std::vector<Point> points;
  double error = std::numeric_limits<double>::infinity();
};

// Normal equations in the knots' values, each sample divided by its y.
Fit fit_at(const std::vector<Point>& samples, const std::vector<double>& knots) {
  std::array<Row, most_knots> rows{};
  for (const Point& sample : samples) {
    const auto weights = hats(knots, sample.x);
    for (std::size_t i = 0; i < knots.size(); ++i) {
      for (std::size_t j = 0; j < knots.size(); ++j)
        rows[i][j] += weights[i] * weights[j] / (sample.y * sample.y);
      rows[i][most_knots] += weights[i] / sample.y;
    }
  }
  // Rows of one size keep the elimination's pivots comparable.
  for (std::size_t i = 0; i < knots.size(); ++i) {
    const double size = rows[i][i];
    if (size <= 0) return {};
    for (double& entry : rows[i]) entry /= size;
  }
  const auto values = solved(rows, knots.size());
  if (!values) return {};
  Fit fit{{}, 0};
  for (std::size_t i = 0; i < knots.size(); ++i) fit.points.push_back({knots[i], (*values)[i]});
  for (const Point& sample : samples) {
    const auto weights = hats(knots, sample.x);
    double value = 0;
    for (std::size_t i = 0; i < knots.size(); ++i) value += weights[i] * (*values)[i];
    fit.error += (value / sample.y - 1) * (value / sample.y - 1);
  }
  return fit;
}

}  // namespace

PiecewiseLinear PiecewiseLinear::through(std::vector<Point> points) {
  PiecewiseLinear result;
  result.points_ = std::move(points);
  return result;
}

PiecewiseLinear PiecewiseLinear::fitted(const std::vector<Point>& points) {
  if (points.size() <= 2) return through(points);
  const double first = points.front().x, last = points.back().x;
  Fit best;
  const auto consider = [&](const std::vector<double>& knots) {
    if (Fit fit = fit_at(points, knots); fit.error < best.error) best = std::move(fit);
  };
  consider({first, last});
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    consider({first, points[i].x, last});
    for (std::size_t j = i + 1; j + 1 < points.size(); ++j)
      consider({first, points[i].x, points[j].x, last});
  }
  if (best.points.empty()) return through(points);
  return through(std::move(best.points));
}

double PiecewiseLinear::operator()(double x) const {
  if (points_.empty()) return 0;
  if (points_.size() == 1) return points_.front().y * x / points_.front().x;
  const auto above = std::ranges::lower_bound(points_, x, {}, &Point::x);
  const auto right = std::clamp<std::ptrdiff_t>(above - points_.begin(), 1,
                                                static_cast<std::ptrdiff_t>(points_.size()) - 1);
  const Point &l = points_[static_cast<std::size_t>(right) - 1],
              &r = points_[static_cast<std::size_t>(right)];
  return std::max(0.0, l.y + (r.y - l.y) / (r.x - l.x) * (x - l.x));
}

}  // namespace dyn::choice
