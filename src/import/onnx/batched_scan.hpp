#pragma once
// Scan as it was before opset 9: a first axis of samples, each with a length of its own.

#include "src/import/onnx/messages/messages.hpp"
#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// True where the node is a Scan with an axis of samples, and none that graph_of_samples() made.
bool scans_samples(const NodeContext& node);

/// A graph that reads what the node reads, and has an output for each of its body's: a Scan as of
/// opset 9 over the samples, whose steps are each a Scan over the places of a sample. Behind a
/// sample's length its states stay, and what the steps make is 0, as in ONNX Runtime.
GraphProto graph_of_samples(const NodeContext& node, const GraphProto& body);

}  // namespace dyn::onnx
