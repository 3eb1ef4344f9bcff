#pragma once

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Attention whose keys and values are repeated for a group of heads, a reshape of an expanded
/// [B, H, 1, Skv, D], gets an axis for the group: nothing is repeated in memory, and kernels see
/// which heads share keys.
void share_heads(Module& module);

}  // namespace dyn::graph
