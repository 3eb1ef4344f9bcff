#include "src/tune/random_search.hpp"

namespace dyn::tune {
namespace {

constexpr std::size_t points_at_once = 4;

}  // namespace

std::vector<Point> RandomSearch::ask() {
  std::vector<Point> points;
  while (points.size() < points_at_once) {
    std::optional<Point> point = untried_.take_random(random_);
    if (!point) break;
    points.push_back(*std::move(point));
  }
  return points;
}

}  // namespace dyn::tune
