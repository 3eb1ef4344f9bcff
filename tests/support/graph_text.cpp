#include "tests/support/graph_text.hpp"

#include <fmt/format.h>

namespace dyn::testing {
namespace {

/// "r: f32[A, B], s: i64[]" -> "r, s"
std::string names_in(const std::string& results) {
  std::string names;
  bool in_type = false;
  int depth = 0;
  for (const char c : results) {
    depth += (c == '[') - (c == ']');
    if (c == ':') in_type = true;
    if (c == ',' && depth == 0) in_type = false;
    if (!in_type) names += c;
  }
  return names;
}

}  // namespace

std::string graph_text(const std::vector<std::string>& dims, const std::string& parameters,
                       const std::string& results, const std::string& statements) {
  std::string text = "dyn 1\n";
  for (const auto& name : dims) text += fmt::format("dim {} in 0..1000000\n", name);
  return text + fmt::format("graph g({}) -> ({}) {{\n  {}\n  return {}\n}}\n", parameters, results,
                            statements, names_in(results));
}

}  // namespace dyn::testing
