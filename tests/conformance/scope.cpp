#include "tests/conformance/scope.hpp"

#include <algorithm>
#include <string_view>

#include "tests/conformance/values.hpp"

namespace dyn::conformance {
namespace {

using Reason = std::optional<std::string>;

Reason of_type(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::STRING: return "strings";
    default: return std::nullopt;
  }
}

Reason of_type(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "sequences";
  if (type.has_optional_type()) return "optional types";
  if (type.has_map_type()) return "maps";
  return type.has_tensor_type() ? of_type(type.tensor_type().elem_type()) : std::nullopt;
}

Reason of_operator(const onnx::NodeProto& node) {
  static constexpr std::string_view generators[] = {"RandomNormal",  "RandomNormalLike",
                                                    "RandomUniform", "RandomUniformLike",
                                                    "Multinomial",   "Bernoulli"};
  const auto is_among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), node.op_type()) != std::end(names);
  };
  if (node.domain().starts_with("ai.onnx.preview.training")) return "training operators";
  if (!node.domain().empty() && node.domain() != "ai.onnx") return std::nullopt;
  if (is_among(generators)) return "random generators";
  if (node.op_type() == "ImageDecoder") return "image decoding";
  return std::nullopt;
}

class Scope {
 public:
  explicit Scope(const std::map<std::string, onnx::TensorProto>& inputs) : inputs_(inputs) {}

  /// The model's own ports are tensors; what goes on within may be sequences of them.
  Reason of_model(const onnx::GraphProto& graph) const {
    const auto of_port = [](const onnx::ValueInfoProto& port) { return of_type(port.type()); };
    Reason reason = first(graph.input(), of_port);
    if (!reason) reason = first(graph.output(), of_port);
    return reason ? reason : of(graph);
  }

  Reason of(const onnx::GraphProto& graph) const {
    const auto of_value = [](const onnx::ValueInfoProto& value) {
      return of_type(value.type().tensor_type().elem_type());
    };
    Reason reason = first(graph.input(), of_value);
    if (!reason) reason = first(graph.output(), of_value);
    if (!reason) reason = first(graph.value_info(), of_value);
    if (!reason)
      reason = first(graph.initializer(),
                     [](const onnx::TensorProto& tensor) { return of_type(tensor.data_type()); });
    return reason ? reason : of_nodes(graph.node());
  }

  template <class Nodes>
  Reason of_nodes(const Nodes& nodes) const {
    return first(nodes, [&](const onnx::NodeProto& node) {
      Reason reason = of_operator(node);
      if (!reason && is_random_dropout(node)) reason = "random generators";
      return reason ? reason : first(node.attribute(), [&](const onnx::AttributeProto& attribute) {
        return of_attribute(attribute);
      });
    });
  }

 private:
  template <class Items, class Function>
  static Reason first(const Items& items, const Function& reason_of) {
    for (const auto& item : items)
      if (Reason reason = reason_of(item)) return reason;
    return std::nullopt;
  }

  Reason of_attribute(const onnx::AttributeProto& attribute) const {
    const std::string& name = attribute.name();
    if (attribute.has_g()) return of(attribute.g());
    if (attribute.has_t()) return of_type(attribute.t().data_type());
    if (attribute.has_tp()) return of_type(attribute.tp().tensor_type().elem_type());
    if (name == "value_string" || name == "value_strings") return "strings";
    if (name == "to" || name == "dtype" || name == "output_dtype")
      return of_type(static_cast<int>(attribute.i()));
    return std::nullopt;
  }

  bool is_random_dropout(const onnx::NodeProto& node) const {
    return node.op_type() == "Dropout" && node.input_size() == 3 && number_of(node.input(2)) != 0 &&
           number_of(node.input(1)) != 0;
  }

  /// The value of a scalar that the case gives; 1 where it gives none.
  double number_of(const std::string& input) const {
    const auto found = inputs_.find(input);
    if (found == inputs_.end()) return 1;
    const Values values(found->second);
    return values.size() == 1 ? static_cast<double>(values[0]) : 1;
  }

  const std::map<std::string, onnx::TensorProto>& inputs_;
};

}  // namespace

std::optional<std::string> out_of_scope(const onnx::ModelProto& model,
                                        const std::map<std::string, onnx::TensorProto>& inputs) {
  const Scope scope(inputs);
  Reason reason = scope.of_model(model.graph());
  for (const onnx::FunctionProto& function : model.functions())
    if (!reason) reason = scope.of_nodes(function.node());
  return reason;
}

}  // namespace dyn::conformance
