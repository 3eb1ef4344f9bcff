#pragma once
// A discrete space to search: parameters with finitely many values, constraints and preferences.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dyn::tune {

using Random = std::mt19937_64;

struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;  ///< at least one, distinct
  bool ordered = true;  ///< neighbours in `values` are alike; else any two values are equally far
};

/// For each parameter the index of its value.
using Point = std::vector<int>;
/// For each parameter its value.
using Values = std::vector<std::int64_t>;

/// Constraints and preferences are TSCompiler's (section 5.1): a point that is not allowed is
/// projected to the nearest one that is, one that does not fit is pruned, and unmet preferences
/// count against a point until measurements say otherwise.
struct Space {
  std::vector<Parameter> parameters;
  std::function<bool(const Values&)> allowed = {};  ///< hard: the values make a program
  std::function<bool(const Values&)> fits = {};     ///< hard: within the machine's resources
  std::function<double(const Values&)> unmet = {};  ///< soft: how many preferences are not met
  std::vector<Values> seeds = {};                   ///< aligned with the machine, best first

  Values values_of(const Point& point) const;
  /// None where a value is not among its parameter's.
  std::optional<Point> point_of(const Values& values) const;
  /// Allowed, and fits.
  bool legal(const Point& point) const;
  bool is_allowed(const Point& point) const;
  double unmet_at(const Point& point) const { return unmet ? unmet(values_of(point)) : 0; }
  /// Points, legal or not; infinity-like large numbers are cut at 2^53.
  double size() const;
};

/// From 0 (equal) to 1: along an ordered parameter as a share of all steps between its values.
double distance(const Parameter& parameter, int a, int b);

/// The nearest allowed point: the point itself, or one with another value of one parameter, else of
/// two where `most_changes` is 2, at the least sum of squared distances; ties go to the earlier
/// parameter. None where there is no such point.
std::optional<Point> project(const Space& space, const Point& point, int most_changes);

/// Legal points that were not given out before.
class Untried {
 public:
  explicit Untried(const Space& space) : space_(space) {}

  /// Takes a point: false where it is not legal, or was taken before.
  bool take(const Point& point);
  bool has_taken(const Point& point) const { return taken_.contains(point); }
  /// A random point, which counts as taken. Where draws of all points seldom are legal, it is the
  /// end of a walk over legal ones, one parameter at a time, which reaches each equally often.
  /// None: there is no further one (in spaces of up to a million points every one is looked at; in
  /// larger ones none was found).
  std::optional<Point> take_random(Random& random);
  std::size_t count() const noexcept { return taken_.size(); }

 private:
  /// The end of a walk from a point that was taken, or from a seed.
  std::optional<Point> walk(Random& random) const;

  const Space& space_;
  std::set<Point> taken_;
  std::optional<Point> last_;
};

}  // namespace dyn::tune
