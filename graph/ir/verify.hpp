#pragma once
// The part of verification that does not need types.

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Everything that verify() checks except the results' types and names: what shape propagation
/// relies on.
void verify_structure(const Module& module);

/// The part of it about one node: its place among values and nodes, its operator's arity and
/// attributes.
void verify_node(const Module& module, int index);

/// Whether 63 bits count the bytes, whatever the symbols are above 0: more no memory has, and
/// products of such dims would not be what they say.
bool is_countable(const TensorType& type);

}  // namespace dyn::graph
