#include "tests/conformance/scope.hpp"

#include <algorithm>
#include <string_view>

#include "tests/conformance/values.hpp"

namespace dyn::conformance {
namespace {

using Reason = std::optional<std::string>;

/// Tensors of texts are in scope, but not operators on their letters.
Reason of_type(const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return "sequences";
  if (type.has_optional_type()) return "optional types";
  if (type.has_map_type()) return "maps";
  return std::nullopt;
}

Reason of_operator(const onnx::NodeProto& node) {
  static constexpr std::string_view generators[] = {"RandomNormal",  "RandomNormalLike",
                                                    "RandomUniform", "RandomUniformLike",
                                                    "Multinomial",   "Bernoulli"};
  static constexpr std::string_view of_strings[] = {"StringNormalizer", "StringConcat",
                                                    "StringSplit", "RegexFullMatch"};
  const auto is_among = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), node.op_type()) != std::end(names);
  };
  if (node.domain().starts_with("ai.onnx.preview.training")) return "training operators";
  if (!node.domain().empty() && node.domain() != "ai.onnx") return std::nullopt;
  if (is_among(generators)) return "random generators";
  if (is_among(of_strings)) return "strings";
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
    return attribute.has_g() ? of_nodes(attribute.g().node()) : std::nullopt;
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
