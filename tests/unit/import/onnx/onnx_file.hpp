#pragma once
// ONNX models made by tests.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "src/import/onnx/messages/messages.hpp"

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

/// The number of an integer type in ONNX.
template <class T>
constexpr int data_type_of = std::is_same_v<T, std::uint8_t>    ? onnx::TensorProto::UINT8
                             : std::is_same_v<T, std::int8_t>   ? onnx::TensorProto::INT8
                             : std::is_same_v<T, std::uint16_t> ? onnx::TensorProto::UINT16
                             : std::is_same_v<T, std::int16_t>  ? onnx::TensorProto::INT16
                                                                : onnx::TensorProto::INT32;

/// An initializer of any integer type.
template <class T>
void add_constant(OnnxFile& file, const std::string& name, const std::vector<std::int64_t>& dims,
                  const std::vector<T>& elements) {
  onnx::TensorProto& tensor = *file.model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(data_type_of<T>);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(
      std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)));
}

/// A node of ONNX Runtime's own domain.
onnx::NodeProto& contrib(OnnxFile& file, const std::string& op,
                         std::initializer_list<std::string> inputs,
                         std::initializer_list<std::string> outputs);

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
onnx::NodeProto& set_floats(onnx::NodeProto& node, const std::string& attribute,
                            const std::vector<double>& values);
onnx::NodeProto& set_words(onnx::NodeProto& node, const std::string& attribute,
                           const std::vector<std::string>& values);
/// The value of an attribute of the function that the node is in.
onnx::NodeProto& set_reference(onnx::NodeProto& node, const std::string& attribute,
                               const std::string& of_function,
                               onnx::AttributeProto::AttributeType type);

}  // namespace dyn::testing
