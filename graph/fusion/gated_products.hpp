#pragma once
// Products of one left side that are combined behind their sums: gated layers, as silu(x W) * (x
// V). One group computes them, so that none of them goes through memory.

#include <vector>

#include "graph/fusion/fusion_graph.hpp"

namespace dyn::graph {

/// The products that belong into the group of the matmul `product`, ascending, without itself: they
/// multiply its left side by constant matrices of its right side's dims, and an element-wise node
/// behind each of them takes `product`'s result too. None where FuseOptions::gated_columns forbids.
std::vector<int> gated_products(const FusionGraph& graph, int product, const FuseOptions& options);

}  // namespace dyn::graph
