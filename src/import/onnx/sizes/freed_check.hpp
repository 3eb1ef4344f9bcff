#pragma once
// Checks that freed dims stay free.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Throws Error(unsupported) where the conditions that the node puts on its operands bind a freed
/// dim to its size in the file. `first_new` is the first node of the module that it became.
void check_freed(NodeContext& node, std::size_t first_new);

}  // namespace dyn::onnx
