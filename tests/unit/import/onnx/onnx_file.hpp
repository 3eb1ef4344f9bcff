#pragma once
// ONNX models made by tests.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "onnx.pb.h"

namespace dyn::testing {

/// A dim: a size, a name, or neither ("").
struct OnnxDim {
  OnnxDim(int size) : value(size) {}
  OnnxDim(const char* text) : name(text) {}
  std::int64_t value = -1;
  std::string name;
};

/// A model under construction; its message is public, for what the functions do not offer.
class OnnxFile {
 public:
  explicit OnnxFile(int opset = 20);

  OnnxFile& input(const std::string& name, std::initializer_list<OnnxDim> dims,
                  int data_type = onnx::TensorProto::FLOAT);
  OnnxFile& output(const std::string& name);
  /// Initializers.
  OnnxFile& floats(const std::string& name, std::vector<std::int64_t> dims,
                   const std::vector<float>& elements);
  OnnxFile& integers(const std::string& name, std::vector<std::int64_t> dims,
                     const std::vector<std::int64_t>& elements);
  onnx::NodeProto& node(const std::string& op, std::initializer_list<std::string> inputs,
                        std::initializer_list<std::string> outputs);

  /// A function of the domain "local", and a call of it.
  onnx::FunctionProto& function(const std::string& name, std::initializer_list<std::string> inputs,
                                std::initializer_list<std::string> outputs, int opset = 20);
  onnx::NodeProto& call(const std::string& function, std::initializer_list<std::string> inputs,
                        std::initializer_list<std::string> outputs);

  void save(const std::string& path) const;

  onnx::ModelProto model;
};

/// A node at the end of a function's body.
onnx::NodeProto& node(onnx::FunctionProto& function, const std::string& op,
                      std::initializer_list<std::string> inputs,
                      std::initializer_list<std::string> outputs);
onnx::NodeProto& call(onnx::FunctionProto& function, const std::string& callee,
                      std::initializer_list<std::string> inputs,
                      std::initializer_list<std::string> outputs);

/// The graph that a node has as this attribute, empty but for its name.
onnx::GraphProto& graph_of(onnx::NodeProto& node, const std::string& attribute);
/// A node at the end of such a graph.
onnx::NodeProto& node(onnx::GraphProto& graph, const std::string& op,
                      std::initializer_list<std::string> inputs,
                      std::initializer_list<std::string> outputs);
void name_inputs(onnx::GraphProto& graph, std::initializer_list<std::string> names);
void name_outputs(onnx::GraphProto& graph, std::initializer_list<std::string> names);

onnx::NodeProto& set(onnx::NodeProto& node, const std::string& attribute, std::int64_t value);
onnx::NodeProto& set_number(onnx::NodeProto& node, const std::string& attribute, float value);
onnx::NodeProto& set_word(onnx::NodeProto& node, const std::string& attribute,
                          const std::string& value);
onnx::NodeProto& set_list(onnx::NodeProto& node, const std::string& attribute,
                          const std::vector<std::int64_t>& values);
/// The value of an attribute of the function that the node is in.
onnx::NodeProto& set_reference(onnx::NodeProto& node, const std::string& attribute,
                               const std::string& of_function,
                               onnx::AttributeProto::AttributeType type);

}  // namespace dyn::testing
