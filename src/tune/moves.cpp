#include "src/tune/moves.hpp"

#include <algorithm>
#include <cmath>

namespace dyn::tune {

void move_parameter(const std::vector<Parameter>& parameters, std::size_t parameter, double reach,
                    Point& point, Random& random) {
  const Parameter& of = parameters[parameter];
  const int last = static_cast<int>(of.values.size()) - 1, own = point[parameter];
  if (last == 0) return;
  const int steps = of.ordered ? std::max(1, static_cast<int>(std::lround(reach * last))) : last;
  const int low = std::max(0, own - steps), high = std::min(last, own + steps);
  // All values between but its own.
  const int index = std::uniform_int_distribution<int>(low, high - 1)(random);
  point[parameter] = index < own ? index : index + 1;
}

std::vector<Point> legal_seeds(const Space& space) {
  std::vector<Point> points;
  for (const Values& values : space.seeds) {
    std::optional<Point> point = space.point_of(values);
    if (point) point = project(space, *point, 2);
    if (point && space.legal(*point) && std::ranges::find(points, *point) == points.end())
      points.push_back(*std::move(point));
  }
  return points;
}

}  // namespace dyn::tune
