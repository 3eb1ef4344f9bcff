#pragma once
// An ONNX file's description of itself.

#include <string>

#include "dyn/info.hpp"

namespace dyn::onnx {

class ModelProto;
class ValueInfoProto;

ModelMetadata metadata_of(const ModelProto& model, const std::string& source);

/// The type that the file declares, before anything follows from the inputs; f32 where it declares
/// none. Throws Error(unsupported) for a dtype that dyn has not.
PortInfo declared_port(const ValueInfoProto& port);

}  // namespace dyn::onnx
