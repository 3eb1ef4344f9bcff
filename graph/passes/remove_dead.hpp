#pragma once
// The end of a pass.

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Drops the nodes that no output needs, then all values that nothing refers to; inputs stay, and
/// so do the parts of weights. Renumbers values.
void remove_dead(Module& module);

}  // namespace dyn::graph
