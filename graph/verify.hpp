#pragma once
// The part of verification that does not need types.

#include "graph/module.hpp"

namespace dyn::graph {

/// Everything that verify() checks except the results' types and names: what shape propagation relies on.
void verify_structure(const Module& module);

/// The part of it about one node: its place among values and nodes, its operator's arity and attributes.
void verify_node(const Module& module, int index);

}  // namespace dyn::graph
