#pragma once
// ONNX files as protobuf messages.

#include <string>

#include "onnx.pb.h"

namespace dyn::onnx {

/// The whole file. Throws Error(model) where it cannot be read, is cut, is no ONNX model, or nests
/// deeper than protobuf allows (100 messages).
ModelProto read_model(const std::string& path);

}  // namespace dyn::onnx
