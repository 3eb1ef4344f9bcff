#pragma once
// Models of the domain ai.onnx.ml.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "dyn/graph.hpp"
#include "tests/unit/import/onnx/onnx_file.hpp"

namespace dyn::testing {

/// A model of one node with the input x, and its node.
struct MlFile {
  MlFile(const std::string& op, std::initializer_list<OnnxDim> dims,
         std::initializer_list<std::string> outputs, int data_type = onnx::TensorProto::FLOAT) {
    onnx::OperatorSetIdProto& set = *file.model.add_opset_import();
    set.set_domain("ai.onnx.ml");
    set.set_version(5);
    file.input("x", dims, data_type);
    for (const std::string& output : outputs) file.output(output);
    file.node(op, {"x"}, outputs).set_domain("ai.onnx.ml");
  }

  onnx::NodeProto& node() { return *file.model.mutable_graph()->mutable_node(0); }

  OnnxFile file;
};

/// An attribute that is a tensor of doubles, or of bytes.
inline void set_tensor(onnx::NodeProto& node, const std::string& attribute,
                       const std::vector<double>& values, int data_type) {
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(attribute);
  added.set_type(onnx::AttributeProto::TENSOR);
  added.mutable_t()->set_data_type(data_type);
  added.mutable_t()->add_dims(static_cast<std::int64_t>(values.size()));
  for (const double value : values) {
    if (data_type == onnx::TensorProto::DOUBLE)
      added.mutable_t()->add_double_data(value);
    else if (data_type == onnx::TensorProto::FLOAT)
      added.mutable_t()->add_float_data(static_cast<float>(value));
    else
      added.mutable_t()->add_int32_data(static_cast<int>(value));
  }
}

/// Options with a log, and its warnings.
struct Logged {
  Options options;
  std::vector<std::string> warnings;

  Logged() {
    options.log = [this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) warnings.emplace_back(line);
    };
  }
};

}  // namespace dyn::testing
