#pragma once
// Convolution and pooling are split into primitives.

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {

/// Emits the primitives of a conv, max_pool or average_pool; false for any other node.
bool decompose_conv_pool(Rewriter& rewriter, const Node& node);

}  // namespace dyn::graph
