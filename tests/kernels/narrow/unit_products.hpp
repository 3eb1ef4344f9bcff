#pragma once
// Weights of a layer, read from its products.

#include <cstdint>
#include <vector>

#include "dyn/graph.hpp"

namespace dyn::testing {

/// y of a graph of x: [rows, depth], row by row.
inline std::vector<float> product(const Graph& graph, const std::vector<float>& x,
                                  std::int64_t depth) {
  const auto rows = static_cast<std::int64_t>(x.size()) / depth;
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {rows, depth})}});
  const auto y = outputs["y"].data<float>();
  return {y.begin(), y.end()};
}

/// [k, n] of y = matmul(x, w): products with unit rows have no rounding.
inline std::vector<float> weights_in(const Graph& graph, std::int64_t k) {
  std::vector<float> units(static_cast<std::size_t>(k * k));
  for (std::int64_t i = 0; i < k; ++i) units[static_cast<std::size_t>(i * k + i)] = 1;
  return product(graph, units, k);
}

}  // namespace dyn::testing
