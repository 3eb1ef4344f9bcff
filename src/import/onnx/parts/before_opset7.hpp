#pragma once
// What operators meant in opsets 1 to 6.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Before opset 7 operands broadcast as attributes say.
inline constexpr int broadcasts_by_shape = 7;

/// Input 1 of an operator of two. Before opset 7 its first dim stands at `axis` of input 0, and
/// ones follow its last; without an axis, and since, its last stands at the last.
ValueId second_operand(NodeContext& node);

/// Throws Error(unsupported) where the operator trains: before opset 7 it does wherever `is_test`
/// is not set.
void refuse_training(NodeContext& node);

}  // namespace dyn::onnx
