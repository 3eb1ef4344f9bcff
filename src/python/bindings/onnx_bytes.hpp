#pragma once
// ONNX models from memory.

#include <string_view>

#include "dyn/graph.hpp"

namespace dyn::python {

/// Throws what Graph::load does.
Graph graph_of_onnx_bytes(std::string_view bytes, const Options& options);

}  // namespace dyn::python
