#pragma once
// The part of verification that does not need types.

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Checks everything that verify() does except the results' types and names; shape propagation
/// relies on these.
void verify_structure(const Module& module);

/// Checks one node: its place among values and nodes, its operator's arity and attributes.
void verify_node(const Module& module, int index);

/// The part of it that is the operator's arity and attributes; outputs count, whatever they are.
void verify_call(const Module& module, const Node& node);

/// True where 63 bits count the bytes of the tensor, whatever the symbols are above 0. No memory
/// has more, and products of such dims would overflow.
bool is_countable(const TensorType& type);

}  // namespace dyn::graph
