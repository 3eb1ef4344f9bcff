#pragma once
// Weights as a safetensors file.

#include <string>
#include <vector>

#include "src/import/node_context.hpp"

namespace dyn::onnx {

/// The file's bytes. Each tensor is let go of as soon as it is written, so that most are in memory once.
std::string take_safetensors(std::vector<NamedTensor>& tensors);

}  // namespace dyn::onnx
