#pragma once
// Convolution and pooling as primitives.

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {

/// Emits what a conv, max_pool or average_pool consists of; false for any other node.
bool decompose_conv_pool(Rewriter& rewriter, const Node& node);

}  // namespace dyn::graph
