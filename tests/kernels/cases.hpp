#pragma once
// The operators' cases as data: a snippet of text, the sizes it runs at, and how near the result
// must be.

#include <string>
#include <vector>

#include "tests/kernels/compare.hpp"

namespace dyn::testing {

struct Case {
  std::string statement;   ///< "r = add(x, y)"
  std::string parameters;  ///< "x: f32[A, B], y: f32[B]"
  std::string results;     ///< "r: f32[A, B]"
  std::vector<Sizes> sizes;
  Tolerance tolerance = {};
  std::vector<Fill> fills = {};  ///< by parameter
};

/// "dyn 1", a declaration of each dim, and the graph.
std::string text_of(const Case& item);

std::vector<Case> elementwise_cases();
std::vector<Case> reduction_cases();
std::vector<Case> matmul_cases();
std::vector<Case> attention_cases();
std::vector<Case> movement_cases();
std::vector<Case> conv_pool_cases();
std::vector<Case> dtype_cases();
std::vector<Case> function_cases();

/// Every combination: product_of({{"A", {1, 2}}, {"B", {3}}}) has two entries.
std::vector<Sizes> product_of(
    const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& choices);

}  // namespace dyn::testing
