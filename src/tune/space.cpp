#include "src/tune/space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dyn::tune {
namespace {

constexpr double most_enumerated = 1e6;
constexpr int random_tries = 256;
constexpr std::size_t least_moves = 4, most_moves = 64;  // of a walk, for each parameter

int last_index(const Parameter& parameter) { return static_cast<int>(parameter.values.size()) - 1; }

Point uniform_point(const Space& space, Random& random) {
  Point point;
  for (const Parameter& parameter : space.parameters)
    point.push_back(std::uniform_int_distribution<int>(0, last_index(parameter))(random));
  return point;
}

/// The point after this one in the order of all points; false after the last.
bool advance(const Space& space, Point& point) {
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (++point[i] <= last_index(space.parameters[i])) return true;
    point[i] = 0;
  }
  return false;
}

double squared(double value) { return value * value; }

/// The nearest allowed point so far.
class Nearest {
 public:
  Nearest(const Space& space, const Point& from) : space_(space), from_(from) {}

  /// With other values of one parameter; then of two, where that is worth looking at.
  void look_at_one(std::size_t parameter) {
    Point point = from_;
    for_each_other(parameter, point, 0,
                   [&](const Point& other, double squares) { offer(other, squares); });
  }

  void look_at_two(std::size_t first, std::size_t second) {
    Point point = from_;
    for_each_other(first, point, 0, [&](Point other, double squares) {
      for_each_other(second, other, squares,
                     [&](const Point& both, double sum) { offer(both, sum); });
    });
  }

  const std::optional<Point>& found() const noexcept { return found_; }

 private:
  template <class Visit>
  void for_each_other(std::size_t parameter, Point& point, double before, const Visit& visit) {
    const int own = from_[parameter], last = last_index(space_.parameters[parameter]);
    // Near values first: once one is allowed, the others need no look.
    for (int steps = 1; steps <= last; ++steps) {
      for (const int index : {own - steps, own + steps}) {
        if (index < 0 || index > last) continue;
        const double squares = before + squared(distance(space_.parameters[parameter], own, index));
        if (squares >= least_) continue;
        point[parameter] = index;
        visit(point, squares);
      }
    }
    point[parameter] = own;
  }

  void offer(const Point& point, double squares) {
    if (squares >= least_ || !space_.is_allowed(point)) return;
    least_ = squares;
    found_ = point;
  }

  const Space& space_;
  const Point& from_;
  double least_ = std::numeric_limits<double>::infinity();
  std::optional<Point> found_;
};

}  // namespace

Values Space::values_of(const Point& point) const {
  Values values;
  values.reserve(point.size());
  for (std::size_t i = 0; i < point.size(); ++i)
    values.push_back(parameters[i].values[static_cast<std::size_t>(point[i])]);
  return values;
}

std::optional<Point> Space::point_of(const Values& values) const {
  if (values.size() != parameters.size()) return std::nullopt;
  Point point;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = std::ranges::find(parameters[i].values, values[i]);
    if (found == parameters[i].values.end()) return std::nullopt;
    point.push_back(static_cast<int>(found - parameters[i].values.begin()));
  }
  return point;
}

bool Space::is_allowed(const Point& point) const { return !allowed || allowed(values_of(point)); }

bool Space::legal(const Point& point) const {
  const Values values = values_of(point);
  return (!allowed || allowed(values)) && (!fits || fits(values));
}

double Space::size() const {
  double points = 1;
  for (const Parameter& parameter : parameters)
    points = std::min(points * static_cast<double>(parameter.values.size()), std::ldexp(1, 53));
  return points;
}

double distance(const Parameter& parameter, int a, int b) {
  if (a == b) return 0;
  return parameter.ordered ? static_cast<double>(std::abs(a - b)) / last_index(parameter) : 1;
}

std::optional<Point> project(const Space& space, const Point& point, int most_changes) {
  if (space.is_allowed(point)) return point;
  Nearest nearest(space, point);
  for (std::size_t i = 0; i < point.size(); ++i) nearest.look_at_one(i);
  if (nearest.found() || most_changes < 2) return nearest.found();
  for (std::size_t i = 0; i < point.size(); ++i) {
    for (std::size_t j = i + 1; j < point.size(); ++j) nearest.look_at_two(i, j);
  }
  return nearest.found();
}

bool Untried::take(const Point& point) {
  if (taken_.contains(point) || !space_.legal(point)) return false;
  last_ = point;
  return taken_.insert(point).second;
}

// Moves are as likely as their way back, so that after many all legal points are equally likely.
std::optional<Point> Untried::walk(Random& random) const {
  std::optional<Point> point = last_;
  for (std::size_t i = 0; !point && i < space_.seeds.size(); ++i) {
    point = space_.point_of(space_.seeds[i]);
    if (point && !space_.legal(*point)) point.reset();
  }
  if (!point) return std::nullopt;
  const std::size_t parameters = point->size();
  for (std::size_t move = 0; move < most_moves * parameters; ++move) {
    const std::size_t parameter =
        std::uniform_int_distribution<std::size_t>(0, parameters - 1)(random);
    const int before = (*point)[parameter];
    (*point)[parameter] =
        std::uniform_int_distribution<int>(0, last_index(space_.parameters[parameter]))(random);
    if (!space_.legal(*point)) (*point)[parameter] = before;
    if (move >= least_moves * parameters && !taken_.contains(*point)) return point;
  }
  return std::nullopt;
}

std::optional<Point> Untried::take_random(Random& random) {
  for (int attempt = 0; attempt < random_tries; ++attempt) {
    Point point = uniform_point(space_, random);
    if (take(point)) return point;
  }
  if (const std::optional<Point> point = walk(random); point && take(*point)) return point;
  if (space_.size() > most_enumerated) return std::nullopt;
  std::vector<Point> left;
  Point point(space_.parameters.size(), 0);
  do {
    if (!taken_.contains(point) && space_.legal(point)) left.push_back(point);
  } while (advance(space_, point));
  if (left.empty()) return std::nullopt;
  point = left[std::uniform_int_distribution<std::size_t>(0, left.size() - 1)(random)];
  take(point);
  return point;
}

}  // namespace dyn::tune
