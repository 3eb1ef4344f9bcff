#pragma once
// Functions that a model defines: operators made of nodes.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/import/onnx/messages/messages.hpp"

namespace dyn::onnx {

/// The domain of the standard operators; "" and "ai.onnx" mean it.
bool is_standard(const std::string& domain);

/// Domains of operators: classical machine learning; ONNX Runtime's own; those of its memory layout
/// for one CPU's registers.
inline constexpr std::string_view learning_domain = "ai.onnx.ml",
                                  preview_domain = "ai.onnx.preview",
                                  microsoft_domain = "com.microsoft",
                                  blocked_domain = "com.microsoft.nchwc";

/// "Gelu", or "com.example.Gelu"; an overloaded function has ":" and the overload behind it.
std::string operator_name(const NodeProto& node);

/// A model's functions, by domain, name and overload. They take precedence over operators of the
/// same name.
class Functions {
 public:
  /// Throws Error(model) where two functions have one name, functions call each other in a circle,
  /// or calls stand for more than `largest_size`.
  explicit Functions(const ModelProto& model);

  /// The function that the node calls; nullptr: it is an operator.
  const FunctionProto* find(const NodeProto& node) const;
  /// The functions that the graph calls, directly or through others, each once.
  std::vector<const FunctionProto*> called_by(const GraphProto& graph) const;

  /// Bytes of all nodes that calls expand to, each node counted as at least a KiB. A few functions,
  /// each of which calls the next twice, would fill any memory.
  static constexpr std::int64_t largest_size = std::int64_t{1} << 30, least_size = 1 << 10;

 private:
  std::map<std::string, const FunctionProto*> functions_;  ///< by key_of
};

/// The name as calls have it: operator_name of a node that calls it.
std::string function_name(const FunctionProto& function);

/// A node of the function's body as this call means it. An attribute that refers to one of the
/// call's takes its value, or the function's default, or is gone where there is neither; inputs
/// that the call leaves out are left out. Graphs within the node are treated alike.
NodeProto bound_node(const NodeProto& node, const FunctionProto& function, const NodeProto& call);

/// Calls `visit` with each node, those of graphs within nodes included. The limit on nested
/// messages bounds the depth.
template <class Nodes, class Visit>
void for_each_node(const Nodes& nodes, const Visit& visit) {
  for (const NodeProto& node : nodes) {
    visit(node);
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) for_each_node(attribute.g().node(), visit);
      for (const GraphProto& graph : attribute.graphs()) for_each_node(graph.node(), visit);
    }
  }
}

}  // namespace dyn::onnx
