#pragma once
// ONNX files as protobuf messages.

#include <string>

#include "onnx.pb.h"

namespace dyn::onnx {

/// The whole file. Throws Error(device) where it cannot be read, Error(model) where it is cut, is
/// no ONNX model, or nests deeper than protobuf allows (100 messages).
ModelProto read_model(const std::string& path);

}  // namespace dyn::onnx
