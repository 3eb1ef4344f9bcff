#pragma once
// The cases of the ONNX project's backend test suite, as its Python package holds them.

#include <optional>
#include <string>
#include <vector>

#include "src/import/onnx/messages/messages.hpp"

namespace dyn::conformance {

struct Case {
  std::string name;   ///< "node/abs", "light/resnet50"
  std::string model;  ///< path of the .onnx file
  std::vector<std::string>
      data_sets;             ///< folders with input_0.pb, output_0.pb, ...; none for light models
  std::string light_output;  ///< for a light model: the file with its expected outputs for inputs
                             ///< 0/n, 1/n, ...
  double rtol = 1e-3, atol = 1e-7;  ///< the suite's own tolerances, where a case declares no others
  std::vector<std::string> operators;  ///< operators that the case is about: those of its model, or
                                       ///< for the expansion of a function the function's
  std::optional<std::string> out_of_scope;  ///< why it is out of scope
};

/// All cases of the folder onnx/backend/test/data, by name. Throws Error(device) where it is not
/// that folder.
std::vector<Case> find_cases(const std::string& folder);

/// Reads a message. Throws Error(device) where the file holds another.
onnx::ModelProto read_model(const std::string& path);
onnx::TensorProto read_tensor(const std::string& path);

/// The graph's inputs that a caller gives: those that are no initializers.
std::vector<const onnx::ValueInfoProto*> inputs_of(const onnx::GraphProto& graph);

}  // namespace dyn::conformance
