#pragma once
// Texts, of which dyn has no tensors.

#include <string>
#include <vector>

namespace dyn::onnx {

/// "0 is \"cat\", 1 is \"dog\"": for messages, the first of them where there are many.
std::string listed(const std::vector<std::string>& texts);

}  // namespace dyn::onnx
