#pragma once

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

/// Converts a node. Where it has inputs of f16 or bf16 and its operator is made of several dyn
/// operators, these compute in f32, and its results are rounded once.
void convert_halves(GraphState& state, NodeProto& node, NodeContext& context, Convert convert);

}  // namespace dyn::onnx
