#include "src/tune/trust_region.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "src/tune/moves.hpp"

namespace dyn::tune {
namespace {

constexpr std::size_t tries_per_candidate = 4;

double deviation_of(const std::vector<double>& values) {
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

TrustRegion::TrustRegion(const Space& space, Point center, const TrustRegionSettings& settings)
    : space_(space),
      settings_(settings),
      process_(space.parameters),
      center_(std::move(center)),
      length_(settings.first_length) {}

void TrustRegion::observe(const std::vector<Point>& points, const std::vector<double>& values) {
  if (points.empty()) return;
  const bool is_first = values_.empty();
  const auto least = std::ranges::min_element(values);
  points_.insert(points_.end(), points.begin(), points.end());
  values_.insert(values_.end(), values.begin(), values.end());
  if (points_.size() > settings_.most_points) {
    const auto excess = static_cast<std::ptrdiff_t>(points_.size() - settings_.most_points);
    points_.erase(points_.begin(), points_.begin() + excess);
    values_.erase(values_.begin(), values_.begin() + excess);
  }
  is_fitted_ = false;
  const bool succeeds = is_first || *least < best_ - settings_.worth;
  if (is_first || *least < best_) {
    best_ = *least;
    center_ = points[static_cast<std::size_t>(least - values.begin())];
  }
  if (is_first) return;
  successes_ = succeeds ? successes_ + 1 : 0;
  failures_ = succeeds ? 0 : failures_ + 1;
  if (successes_ == settings_.successes) {
    length_ = std::min(2 * length_, settings_.most_length);
    successes_ = 0;
  } else if (failures_ == settings_.failures) {
    length_ /= 2;
    failures_ = 0;
    over_ = length_ < settings_.least_length;
  }
}

// The sides of parameters that tell less are longer, with the same volume.
Point TrustRegion::drawn_point(Random& random) const {
  const std::vector<double>& lengths = process_.lengths();
  double logarithms = 0;
  for (const double length : lengths)
    logarithms += std::log(length) / static_cast<double>(lengths.size());
  const double mean = std::exp(logarithms);
  Point point = center_;
  const std::size_t count = point.size();
  // One parameter, two, and so on are moved, each half as often as fewer.
  std::size_t moved = 1;
  while (moved < count && random() % 2 == 0) ++moved;
  for (std::size_t i = 0; i < moved; ++i) {
    const std::size_t parameter = std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
    const double side = std::min(1.0, length_ * lengths[parameter] / mean);
    point[parameter] = center_[parameter];
    move_parameter(space_.parameters, parameter, side / 2, point, random);
  }
  return point;
}

std::vector<Point> TrustRegion::candidates(std::size_t most, const Untried& untried,
                                           Random& random) const {
  std::set<Point> found;
  for (std::size_t i = 0; i < most * tries_per_candidate && found.size() < most; ++i) {
    const std::optional<Point> point = project(space_, drawn_point(random), 1);
    if (point && !untried.has_taken(*point) && space_.legal(*point)) found.insert(*point);
  }
  return {found.begin(), found.end()};
}

std::vector<double> TrustRegion::means_of(const std::vector<Point>& points,
                                          double preference) const {
  const double weight = preference * deviation_of(values_);
  std::vector<double> means;
  for (const Point& point : points) means.push_back(weight * space_.unmet_at(point));
  return means;
}

std::vector<std::vector<double>> TrustRegion::draws(std::size_t count,
                                                    const std::vector<Point>& candidates,
                                                    double preference, Random& random) {
  if (!is_fitted_) process_.fit(points_, values_, means_of(points_, preference));
  is_fitted_ = true;
  return process_.draws(count, candidates, means_of(candidates, preference), random);
}

}  // namespace dyn::tune
