#pragma once
// Why tensors go through memory, for people.

#include "graph/fusion/group.hpp"

namespace dyn::graph {

/// Adds a reason for each value that one group writes and another reads.
void explain_memory(const Module& module, Fusion& fusion);

}  // namespace dyn::graph
