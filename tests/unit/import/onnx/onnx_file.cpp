#include "tests/unit/import/onnx/onnx_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace dyn::testing {

using onnx::AttributeProto;
using onnx::NodeProto;
using onnx::TensorProto;

namespace {

void fill(NodeProto& node, const std::string& op, int number,
          std::initializer_list<std::string> inputs, std::initializer_list<std::string> outputs) {
  node.set_op_type(op);
  node.set_name(op + std::to_string(number));
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
}

/// The tests' models are the seeds of the fuzzer of the import (tests/fuzz/run.sh).
void keep_as_seed(const std::string& bytes) {
  constexpr std::size_t largest = 8192;
  const char* folder = std::getenv("DYN_MODEL_CORPUS");
  if (folder != nullptr && bytes.size() <= largest)
    std::ofstream(std::filesystem::path(folder) / std::to_string(std::hash<std::string>()(bytes)),
                  std::ios::binary)
        << bytes;
}

}  // namespace

OnnxFile::OnnxFile(int opset) {
  constexpr int ir_version = 8;
  model.set_ir_version(ir_version);
  model.add_opset_import()->set_version(opset);
  model.mutable_graph()->set_name("net");
}

OnnxFile& OnnxFile::input(const std::string& name, std::initializer_list<OnnxDim> dims,
                          int data_type) {
  onnx::ValueInfoProto& value = *model.mutable_graph()->add_input();
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(data_type);
  type.mutable_shape();
  for (const OnnxDim& dim : dims) {
    onnx::TensorShapeProto::Dimension& each = *type.mutable_shape()->add_dim();
    if (dim.value >= 0)
      each.set_dim_value(dim.value);
    else if (!dim.name.empty())
      each.set_dim_param(dim.name);
  }
  return *this;
}

OnnxFile& OnnxFile::output(const std::string& name) {
  model.mutable_graph()->add_output()->set_name(name);
  return *this;
}

OnnxFile& OnnxFile::floats(const std::string& name, std::vector<std::int64_t> dims,
                           const std::vector<float>& elements) {
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(
      std::string(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)));
  return *this;
}

OnnxFile& OnnxFile::integers(const std::string& name, std::vector<std::int64_t> dims,
                             const std::vector<std::int64_t>& elements) {
  TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::INT64);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.mutable_int64_data()->Add(elements.begin(), elements.end());
  return *this;
}

NodeProto& OnnxFile::node(const std::string& op, std::initializer_list<std::string> inputs,
                          std::initializer_list<std::string> outputs) {
  NodeProto& node = *model.mutable_graph()->add_node();
  fill(node, op, model.graph().node_size(), inputs, outputs);
  return node;
}

onnx::FunctionProto& OnnxFile::function(const std::string& name,
                                        std::initializer_list<std::string> inputs,
                                        std::initializer_list<std::string> outputs, int opset) {
  onnx::FunctionProto& function = *model.add_functions();
  function.set_domain("local");
  function.set_name(name);
  for (const std::string& input : inputs) function.add_input(input);
  for (const std::string& output : outputs) function.add_output(output);
  function.add_opset_import()->set_version(opset);
  return function;
}

NodeProto& OnnxFile::call(const std::string& function, std::initializer_list<std::string> inputs,
                          std::initializer_list<std::string> outputs) {
  NodeProto& call = node(function, inputs, outputs);
  call.set_domain("local");
  return call;
}

void OnnxFile::save(const std::string& path) const {
  const std::string bytes = model.SerializeAsString();
  std::ofstream(path, std::ios::binary) << bytes;
  keep_as_seed(bytes);
}

namespace {

AttributeProto& add(NodeProto& node, const std::string& name, AttributeProto::AttributeType type) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

NodeProto& contrib(OnnxFile& file, const std::string& op, std::initializer_list<std::string> inputs,
                   std::initializer_list<std::string> outputs) {
  NodeProto& made = file.node(op, inputs, outputs);
  made.set_domain("com.microsoft");
  return made;
}

NodeProto& node(onnx::FunctionProto& function, const std::string& op,
                std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs) {
  NodeProto& node = *function.add_node();
  fill(node, op, function.node_size(), inputs, outputs);
  return node;
}

NodeProto& call(onnx::FunctionProto& function, const std::string& callee,
                std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs) {
  NodeProto& call = node(function, callee, inputs, outputs);
  call.set_domain("local");
  return call;
}

onnx::GraphProto& graph_of(NodeProto& node, const std::string& attribute) {
  onnx::GraphProto& graph = *add(node, attribute, AttributeProto::GRAPH).mutable_g();
  graph.set_name(attribute);
  return graph;
}

NodeProto& node(onnx::GraphProto& graph, const std::string& op,
                std::initializer_list<std::string> inputs,
                std::initializer_list<std::string> outputs) {
  NodeProto& node = *graph.add_node();
  fill(node, op, graph.node_size(), inputs, outputs);
  return node;
}

void name_inputs(onnx::GraphProto& graph, std::initializer_list<std::string> names) {
  for (const std::string& name : names) graph.add_input()->set_name(name);
}

void name_outputs(onnx::GraphProto& graph, std::initializer_list<std::string> names) {
  for (const std::string& name : names) graph.add_output()->set_name(name);
}

NodeProto& set(NodeProto& node, const std::string& attribute, std::int64_t value) {
  add(node, attribute, AttributeProto::INT).set_i(value);
  return node;
}

NodeProto& set_number(NodeProto& node, const std::string& attribute, float value) {
  add(node, attribute, AttributeProto::FLOAT).set_f(value);
  return node;
}

NodeProto& set_word(NodeProto& node, const std::string& attribute, const std::string& value) {
  add(node, attribute, AttributeProto::STRING).set_s(value);
  return node;
}

NodeProto& set_list(NodeProto& node, const std::string& attribute,
                    const std::vector<std::int64_t>& values) {
  add(node, attribute, AttributeProto::INTS).mutable_ints()->Add(values.begin(), values.end());
  return node;
}

NodeProto& set_floats(NodeProto& node, const std::string& attribute,
                      const std::vector<double>& values) {
  AttributeProto& added = add(node, attribute, AttributeProto::FLOATS);
  for (const double value : values) added.add_floats(static_cast<float>(value));
  return node;
}

NodeProto& set_words(NodeProto& node, const std::string& attribute,
                     const std::vector<std::string>& values) {
  AttributeProto& added = add(node, attribute, AttributeProto::STRINGS);
  for (const std::string& value : values) added.add_strings(value);
  return node;
}

NodeProto& set_reference(NodeProto& node, const std::string& attribute,
                         const std::string& of_function, AttributeProto::AttributeType type) {
  add(node, attribute, type).set_ref_attr_name(of_function);
  return node;
}

}  // namespace dyn::testing
