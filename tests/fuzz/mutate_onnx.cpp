// Mutates models as models: other operators, inputs, attributes, dims and elements. Nearly all
// changes of a message's bytes would fail in protobuf, or at the first name.

#include <algorithm>
#include <random>

#include "src/import/onnx/messages/messages.hpp"
#include "tests/fuzz/reader.hpp"

namespace {

using namespace dyn::onnx;
using Random = std::minstd_rand;

std::size_t below(Random& random, int count) {
  return random() % static_cast<std::size_t>(std::max(count, 1));
}

/// Sizes, axes, their neighbours, and numbers that overflow.
std::int64_t integer(Random& random) {
  constexpr std::int64_t most = 0x7fffffffffffffff;
  constexpr std::int64_t some[] = {0,
                                   1,
                                   -1,
                                   2,
                                   -2,
                                   3,
                                   4,
                                   5,
                                   7,
                                   8,
                                   16,
                                   64,
                                   1 << 16,
                                   std::int64_t{1} << 31,
                                   std::int64_t{1} << 32,
                                   most,
                                   most / 2,
                                   -most,
                                   -most - 1};
  return some[below(random, std::size(some))];
}

const char* operator_name(Random& random) {
  static constexpr const char* names[] = {"Abs",
                                          "Add",
                                          "And",
                                          "AveragePool",
                                          "BatchNormalization",
                                          "Cast",
                                          "Clip",
                                          "Concat",
                                          "Constant",
                                          "ConstantOfShape",
                                          "Conv",
                                          "ConvTranspose",
                                          "DepthToSpace",
                                          "Div",
                                          "Einsum",
                                          "Equal",
                                          "Expand",
                                          "Flatten",
                                          "Gather",
                                          "GatherElements",
                                          "GatherND",
                                          "Gemm",
                                          "Identity",
                                          "LayerNormalization",
                                          "MatMul",
                                          "MaxPool",
                                          "Max",
                                          "Mod",
                                          "Neg",
                                          "Not",
                                          "OneHot",
                                          "Pad",
                                          "Pow",
                                          "Range",
                                          "ReduceMax",
                                          "ReduceSum",
                                          "Reshape",
                                          "Resize",
                                          "ScatterElements",
                                          "ScatterND",
                                          "Shape",
                                          "Size",
                                          "Slice",
                                          "Softmax",
                                          "SpaceToDepth",
                                          "Split",
                                          "Squeeze",
                                          "Sub",
                                          "Sum",
                                          "Tile",
                                          "TopK",
                                          "Transpose",
                                          "Trilu",
                                          "Unsqueeze",
                                          "Where",
                                          "CumSum"};
  return names[below(random, std::size(names))];
}

class ModelMutator {
 public:
  ModelMutator(ModelProto& model, Random& random)
      : model_(model), graph_(*model.mutable_graph()), random_(random) {}

  void mutate() {
    switch (below(random_, 12)) {
      case 0: return change_operator();
      case 1: return change_input();
      case 2: return change_attribute();
      case 3: return change_attribute();
      case 4: return change_dim();
      case 5: return change_tensor();
      case 6: return change_tensor();
      case 7: return copy_node();
      case 8: return remove_node();
      case 9: return change_version();
      case 10: return make_function();
      default: return change_output();
    }
  }

 private:
  NodeProto* some_node() {
    const int functions = model_.functions_size();
    if (functions > 0 && below(random_, 3) == 0) {
      FunctionProto& function =
          *model_.mutable_functions(static_cast<int>(below(random_, functions)));
      if (function.node_size() > 0)
        return function.mutable_node(static_cast<int>(below(random_, function.node_size())));
    }
    return graph_.node_size() == 0
               ? nullptr
               : graph_.mutable_node(static_cast<int>(below(random_, graph_.node_size())));
  }

  /// A name that something defines.
  std::string some_name() {
    std::vector<std::string> names{""};
    for (const auto& input : graph_.input()) names.push_back(input.name());
    for (const auto& tensor : graph_.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph_.node())
      names.insert(names.end(), node.output().begin(), node.output().end());
    return names[below(random_, static_cast<int>(names.size()))];
  }

  void change_operator() {
    if (NodeProto* node = some_node()) node->set_op_type(operator_name(random_));
  }

  void change_input() {
    NodeProto* node = some_node();
    if (node == nullptr) return;
    const std::size_t place = below(random_, node->input_size() + 1);
    if (place == static_cast<std::size_t>(node->input_size()))
      node->add_input(some_name());
    else if (below(random_, 4) == 0)
      node->mutable_input()->RemoveLast();
    else
      node->set_input(static_cast<int>(place), some_name());
  }

  void change_output() {
    NodeProto* node = some_node();
    if (node == nullptr) return;
    if (below(random_, 2) == 0)
      node->add_output("o" + std::to_string(below(random_, 64)));
    else if (node->output_size() > 0)
      node->mutable_output()->RemoveLast();
  }

  void change_attribute() {
    NodeProto* node = some_node();
    if (node == nullptr || node->attribute_size() == 0) return;
    AttributeProto& attribute =
        *node->mutable_attribute(static_cast<int>(below(random_, node->attribute_size())));
    if (below(random_, 16) == 0)
      return node->mutable_attribute()->DeleteSubrange(
          static_cast<int>(below(random_, node->attribute_size())), 1);
    if (attribute.has_t()) return change(*attribute.mutable_t());
    if (attribute.has_f()) return attribute.set_f(static_cast<float>(integer(random_)));
    if (attribute.has_s())
      return attribute.set_s(below(random_, 2) == 0 ? "" : operator_name(random_));
    if (attribute.has_i()) return attribute.set_i(integer(random_));
    change(*attribute.mutable_ints());
  }

  void change(RepeatedField<std::int64_t>& list) {
    const std::size_t place = below(random_, list.size() + 1);
    if (place == static_cast<std::size_t>(list.size()))
      list.Add(integer(random_));
    else if (below(random_, 4) == 0)
      list.RemoveLast();
    else
      list.Set(static_cast<int>(place), integer(random_));
  }

  void change_dim() {
    if (graph_.input_size() == 0) return;
    auto& shape = *graph_.mutable_input(static_cast<int>(below(random_, graph_.input_size())))
                       ->mutable_type()
                       ->mutable_tensor_type()
                       ->mutable_shape();
    const std::size_t place = below(random_, shape.dim_size() + 1);
    if (place < static_cast<std::size_t>(shape.dim_size()) && below(random_, 6) == 0)
      return shape.mutable_dim()->RemoveLast();
    auto& dim = place == static_cast<std::size_t>(shape.dim_size())
                    ? *shape.add_dim()
                    : *shape.mutable_dim(static_cast<int>(place));
    if (below(random_, 2) == 0)
      dim.set_dim_value(integer(random_));
    else
      dim.set_dim_param(std::string(1, static_cast<char>('A' + below(random_, 4))));
  }

  void change_tensor() {
    if (graph_.initializer_size() > 0)
      change(
          *graph_.mutable_initializer(static_cast<int>(below(random_, graph_.initializer_size()))));
  }

  /// Changes mostly keep elements and dims in agreement.
  void change(TensorProto& tensor) {
    switch (below(random_, 6)) {
      case 0: return change(*tensor.mutable_dims());
      case 1: return tensor.set_data_type(static_cast<int>(below(random_, 17)));
      case 2: return fill(tensor, TensorProto::FLOAT, sizeof(float));
      case 3: return set_external(tensor);
      case 4:
        if (tensor.int64_data_size() > 0)
          return tensor.set_int64_data(static_cast<int>(below(random_, tensor.int64_data_size())),
                                       integer(random_));
        [[fallthrough]];
      default: return fill(tensor, TensorProto::INT64, sizeof(std::int64_t));
    }
  }

  void fill(TensorProto& tensor, TensorProto::DataType type, std::size_t bytes) {
    const std::size_t count = below(random_, 6);
    tensor.clear_float_data(), tensor.clear_int32_data(), tensor.clear_int64_data(),
        tensor.clear_dims(), tensor.clear_data_location();
    tensor.set_data_type(type);
    tensor.add_dims(static_cast<std::int64_t>(count));
    std::string data;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t element = integer(random_);
      data.append(reinterpret_cast<const char*>(&element), bytes);
    }
    tensor.set_raw_data(data);
  }

  void set_external(TensorProto& tensor) {
    tensor.set_data_location(TensorProto::EXTERNAL);
    tensor.clear_external_data();
    for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", "data.bin"},
                                     {"offset", std::to_string(integer(random_))}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
  }

  void copy_node() {
    constexpr int most_nodes = 64;
    if (graph_.node_size() == 0 || graph_.node_size() > most_nodes) return;
    const NodeProto copied = *some_node();
    NodeProto& node = *graph_.add_node();
    node = copied;
    for (std::string& output : *node.mutable_output()) output += "'";
    if (node.output_size() > 0 && graph_.output_size() > 0)
      graph_.mutable_output(0)->set_name(node.output(0));
  }

  void remove_node() {
    if (graph_.node_size() > 0)
      graph_.mutable_node()->DeleteSubrange(static_cast<int>(below(random_, graph_.node_size())),
                                            1);
  }

  void change_version() {
    if (model_.opset_import_size() > 0)
      model_.mutable_opset_import(0)->set_version(7 +
                                                  static_cast<std::int64_t>(below(random_, 15)));
  }

  /// Replaces a node by a call of a function that consists of this node.
  void make_function() {
    constexpr int most_functions = 8;
    NodeProto* node = some_node();
    if (node == nullptr || model_.functions_size() > most_functions) return;
    NodeProto inner = *node;
    FunctionProto& function = *model_.add_functions();
    function.set_domain("f");
    function.set_name("f" + std::to_string(below(random_, most_functions)));
    *function.mutable_opset_import() = model_.opset_import();
    *function.mutable_input() = inner.input();
    *function.mutable_output() = inner.output();
    if (below(random_, 2) == 0) {
      for (AttributeProto& attribute : *inner.mutable_attribute()) {
        const std::string name = attribute.name();
        if (below(random_, 2) == 0) *function.add_attribute_proto() = attribute;
        attribute.Clear();
        attribute.set_name(name);
        attribute.set_ref_attr_name(name);
      }
    }
    *function.add_node() = inner;
    node->set_domain("f");
    node->set_op_type(function.name());
  }

  ModelProto& model_;
  GraphProto& graph_;
  Random& random_;
};

}  // namespace

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed) {
  constexpr unsigned one_in = 8;
  constexpr std::size_t most_changes = 3;
  Random random(seed);
  ModelProto model;
  if (seed % one_in == 0 || !model.ParseFromString({reinterpret_cast<const char*>(data), size}))
    return LLVMFuzzerMutate(data, size, max_size);
  for (std::size_t changes = 1 + below(random, most_changes); changes > 0; --changes)
    ModelMutator(model, random).mutate();
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::ranges::copy(bytes, data);
  return bytes.size();
}
