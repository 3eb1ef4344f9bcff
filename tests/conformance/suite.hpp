#pragma once
// The cases of the ONNX project's backend test suite, as its Python package holds them.

#include <optional>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dyn::conformance {

struct Case {
  std::string name;   ///< "node/abs", "light/resnet50"
  std::string model;  ///< path of the .onnx file
  std::vector<std::string>
      data_sets;  ///< folders with input_0.pb, output_0.pb, ...; none for light models
  std::string
      light_output;  ///< of a light model: the file with what it must give for inputs 0/n, 1/n, ...
  double rtol = 1e-3, atol = 1e-7;          ///< the suite's own, where a case declares no others
  std::vector<std::string> operators;       ///< that it is about: those of its model, or for the
                                            ///< expansion of a function the function's
  std::optional<std::string> out_of_scope;  ///< why
};

/// All cases of the folder onnx/backend/test/data, by name. Throws Error(device) where it is not
/// that folder.
std::vector<Case> find_cases(const std::string& folder);

/// Throws Error(device) where the file is not the message.
onnx::ModelProto read_model(const std::string& path);
onnx::TensorProto read_tensor(const std::string& path);

/// The graph's inputs that a caller gives: those that are no initializers.
std::vector<const onnx::ValueInfoProto*> inputs_of(const onnx::GraphProto& graph);

}  // namespace dyn::conformance
