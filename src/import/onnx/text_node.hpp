#pragma once
// Nodes on tensors of texts, of which dyn has none: it has the places of the texts in a list.

#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

/// True where an input is a tensor of texts.
bool reads_texts(const NodeContext& context);

/// The operand of a tensor of texts in the file, whose elements are gone from it afterwards. Throws
/// Error(model) where dims do not fit.
Operand texts_operand(TensorProto& proto);

/// Converts a node that reads texts: one that only moves elements moves their places. Others read
/// the texts of their first input themselves, or are refused.
void convert_texts(GraphState& state, NodeProto& node, NodeContext& context,
                   const Conversion& conversion);

}  // namespace dyn::onnx
