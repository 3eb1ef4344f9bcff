#pragma once
// Recognises models that dyn does not mean to run, by their types and operators.

#include <map>
#include <optional>
#include <string>

#include "src/import/onnx/messages/messages.hpp"

namespace dyn::conformance {

/// Why a model is out of scope: float8 and int4, strings, sequences, optional types, maps, training
/// operators, image decoding, random generators; nothing else is. `inputs`: what the case gives by
/// name; a Dropout is a random generator where they switch its training mode on.
std::optional<std::string> out_of_scope(const onnx::ModelProto& model,
                                        const std::map<std::string, onnx::TensorProto>& inputs);

}  // namespace dyn::conformance
