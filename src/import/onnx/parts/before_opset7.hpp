#pragma once
// Operators of opsets 1 to 6 that mean something else since.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Operands broadcast by their shapes since this opset; before it, as attributes say.
inline constexpr int broadcasts_by_shape = 7;

/// Input 1 of an operator of two operands. Before opset 7 its first dim belongs to `axis` of input
/// 0, and ones follow its last dim; without an axis, and since opset 7, the last dims belong
/// together.
ValueId second_operand(NodeContext& node);

/// Throws Error(unsupported) where the operator trains: before opset 7 it does wherever `is_test`
/// is not set.
void refuse_training(NodeContext& node);

}  // namespace dyn::onnx
