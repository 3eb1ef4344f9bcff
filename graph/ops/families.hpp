#pragma once
// The operator families that make up the registry. One file each; graph/ir/op.cpp joins them.

#include <vector>

#include "graph/ir/op.hpp"

namespace dyn::graph {

std::vector<OpDef> elementwise_ops();
std::vector<OpDef> reduction_ops();
std::vector<OpDef> normalization_ops();
std::vector<OpDef> block_ops();
std::vector<OpDef> contraction_ops();
std::vector<OpDef> view_ops();
std::vector<OpDef> indexed_ops();
std::vector<OpDef> state_ops();
std::vector<OpDef> conv_pool_ops();
std::vector<OpDef> host_ops();
std::vector<OpDef> defining_ops();
std::vector<OpDef> recurrence_ops();
std::vector<OpDef> linear_attention_ops();
std::vector<OpDef> tree_ops();
std::vector<OpDef> loop_ops();

}  // namespace dyn::graph
