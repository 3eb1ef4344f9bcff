#include "tests/kernels/cases.hpp"

#include <set>

#include "tests/support/graph_text.hpp"

namespace dyn::testing {
std::string text_of(const Case& item) {
  std::set<std::string> dims;
  for (const auto& sizes : item.sizes) {
    for (const auto& [name, size] : sizes) dims.insert(name);
  }
  return graph_text({dims.begin(), dims.end()}, item.parameters, item.results, item.statement);
}

std::vector<Sizes> product_of(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& choices) {
  std::vector<Sizes> all{{}};
  for (const auto& [name, values] : choices) {
    std::vector<Sizes> longer;
    for (const auto& sizes : all) {
      for (const auto value : values) {
        longer.push_back(sizes);
        longer.back()[name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

}  // namespace dyn::testing
