#pragma once
// Nodes of operators that the program gives.

#include "graph/ir/op.hpp"
#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// The program's operator of the node's domain and name; nullptr: it has none. Those of the
/// standard's domain are in "ai.onnx".
const graph::OpDef* find_given_operator(const GraphState& state, const NodeProto& node);

/// Converts a node of it. Attributes are those that the operator has.
void convert_given_operator(NodeContext& context, const graph::OpDef& op);

}  // namespace dyn::onnx
