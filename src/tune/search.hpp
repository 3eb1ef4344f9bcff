#pragma once
// A method that searches a space for the point with the least value.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "src/tune/space.hpp"

namespace dyn::tune {

/// Deterministic: equal spaces, seeds and answers give equal questions. So a search is resumed by
/// asking it anew and answering what is known (Session). Not thread-safe.
class Search {
 public:
  virtual ~Search() = default;
  /// The next points to evaluate, all legal and none asked for before. Empty: no legal point is
  /// left.
  virtual std::vector<Point> ask() = 0;
  /// The positive values of the points that ask() gave last, in their order; less is better.
  virtual void tell(std::span<const double> values) = 0;
};

enum class Method : std::uint8_t { Bayes, Evolution, Random };

struct MethodInfo {
  Method method;
  std::string_view name, help;
};
/// All methods; the default first.
std::span<const MethodInfo> all_methods();
std::optional<Method> method_named(std::string_view name);
std::string_view name_of(Method method);

/// `space` must outlive the search.
std::unique_ptr<Search> make_search(Method method, const Space& space, std::uint64_t seed);

}  // namespace dyn::tune
