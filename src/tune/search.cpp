#include "src/tune/search.hpp"

#include <algorithm>

#include "src/tune/bayes.hpp"
#include "src/tune/evolution.hpp"
#include "src/tune/random_search.hpp"

namespace dyn::tune {
namespace {

constexpr MethodInfo method_rows[] = {
    {Method::Bayes, "bayes", "Gaussian processes in trust regions (TSCompiler)"},
    {Method::Evolution, "evolution", "mutation and crossover of the best (DietCode, Ansor)"},
    {Method::Random, "random", "points drawn uniformly, for comparison"}};

}  // namespace

std::span<const MethodInfo> all_methods() { return method_rows; }

std::optional<Method> method_named(std::string_view name) {
  const auto found = std::ranges::find(all_methods(), name, &MethodInfo::name);
  return found == all_methods().end() ? std::nullopt : std::optional(found->method);
}

std::string_view name_of(Method method) {
  return std::ranges::find(all_methods(), method, &MethodInfo::method)->name;
}

std::unique_ptr<Search> make_search(Method method, const Space& space, std::uint64_t seed) {
  switch (method) {
    case Method::Bayes: return std::make_unique<BayesSearch>(space, seed);
    case Method::Evolution: return std::make_unique<EvolutionSearch>(space, seed);
    case Method::Random: break;
  }
  return std::make_unique<RandomSearch>(space, seed);
}

}  // namespace dyn::tune
