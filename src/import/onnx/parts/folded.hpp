#pragma once
// Arithmetic that is done when a model is imported.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Gives the result of an arithmetic operator whose operands are f32 constants, where it has no
/// more elements than they have, and no two roundings, or at most 64 elements; and of a cast of
/// narrow integer constants to f32. False where it is another operator, or the operands are others.
bool give_folded_floats(NodeContext& node);

}  // namespace dyn::onnx
