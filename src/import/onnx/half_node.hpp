#pragma once

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

/// Converts a node, with its inputs of f16 and bf16 as Conversion::halves says.
void convert_halves(GraphState& state, NodeProto& node, NodeContext& context,
                    const Conversion& conversion);

}  // namespace dyn::onnx
