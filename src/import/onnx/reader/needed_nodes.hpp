#pragma once
// Tidies graphs that others would not have written so: nodes that nothing reads, and nodes before
// those that they read.

#include <string>
#include <vector>

#include "src/import/onnx/messages/messages.hpp"

namespace dyn::onnx {

/// What was done to a graph and the graphs within its nodes.
struct Tidied {
  std::vector<NodeProto> unread;  ///< the nodes that are gone; no output follows from them
  bool is_reordered = false;
};

/// Nodes from which no output of the graph follows go, and so do tensors that no node reads. Where
/// a node stands before one that it reads, nodes change places; those of a circle stay.
Tidied tidy(GraphProto& graph);

}  // namespace dyn::onnx
