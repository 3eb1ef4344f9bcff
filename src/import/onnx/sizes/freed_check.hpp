#pragma once
// Freed dims that stay free.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Throws Error(unsupported) where what the node asks of its operands binds a freed dim to its size
/// in the file. `first_new` is the first node of the module that it has become.
void check_freed(NodeContext& node, std::size_t first_new);

}  // namespace dyn::onnx
