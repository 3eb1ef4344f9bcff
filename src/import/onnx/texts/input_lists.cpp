#include "src/import/onnx/texts/input_lists.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "src/import/onnx/texts/text_node.hpp"

namespace dyn::onnx {
namespace {

/// They look their texts up in their first input, and give something else.
constexpr std::array<std::string_view, 4> readers{"LabelEncoder", "CategoryMapper", "OneHotEncoder",
                                                  "TfIdfVectorizer"};

/// Attributes with texts that a node looks up.
constexpr std::string_view looked_up[] = {"keys_strings", "keys_tensor", "cats_strings",
                                          "classes_strings", "pool_strings"};
/// Attributes with texts that a node gives.
constexpr std::string_view given[] = {
    "values_strings",  "values_tensor",       "default_string", "default_tensor", "cats_strings",
    "classes_strings", "classlabels_strings", "value",          "value_string",   "value_strings"};
/// What encoders give where they name nothing else.
constexpr std::array<std::string_view, 1> default_texts{"_Unused"};

/// Names of tensors in groups whose texts meet, and the texts of each group.
class Groups {
 public:
  void join(const std::string& a, const std::string& b) { parents_[root(a)] = root(b); }

  template <class List>
  void add(const std::string& name, const List& texts) {
    for (const auto& text : texts) texts_.emplace_back(id(name), text);
  }

  /// By the group's root, in the order of the file.
  std::map<std::size_t, TextVector> texts() {
    std::map<std::size_t, TextVector> groups;
    for (const auto& [id, text] : texts_) groups[root(id)].push_back(text);
    return groups;
  }

  std::size_t root(const std::string& name) { return root(id(name)); }

 private:
  std::size_t id(const std::string& name) {
    const auto [found, is_new] = ids_.emplace(name, parents_.size());
    if (is_new) parents_.push_back(found->second);
    return found->second;
  }

  std::size_t root(std::size_t id) {
    while (parents_[id] != id) id = parents_[id] = parents_[parents_[id]];
    return id;
  }

  std::unordered_map<std::string, std::size_t> ids_;
  std::vector<std::size_t> parents_;
  std::vector<std::pair<std::size_t, std::string>> texts_;
};

bool is_reader(const NodeProto& node) { return std::ranges::count(readers, node.op_type()) > 0; }

/// Where texts of a node meet. What is not known is joined: a group too large costs memory alone.
TextPorts ports_of(const NodeProto& node) {
  if (const TextPorts* known = text_ports(node.op_type())) return *known;
  if (is_reader(node)) return {node.op_type(), 0, 0, false};
  return {node.op_type(), 0, every_input, true};
}

class Scan {
 public:
  Scan(const ModelProto& model, const Functions& functions) : functions_(functions) {
    for (const FunctionProto& function : model.functions())
      nodes(function.node(), function_name(function) + ' ');
    graph(model.graph(), {});
  }

  Groups& groups() { return groups_; }

 private:
  /// `scope` stands before names of a function's body.
  void graph(const GraphProto& graph, const std::string& scope) {
    for (const TensorProto& tensor : graph.initializer())
      groups_.add(scope + tensor.name(), tensor.string_data());
    nodes(graph.node(), scope);
  }

  void nodes(const RepeatedPtrField<NodeProto>& nodes, const std::string& scope) {
    for (const NodeProto& each : nodes) node(each, scope);
  }

  void node(const NodeProto& node, const std::string& scope) {
    if (const FunctionProto* function = functions_.find(node)) return call(node, *function, scope);
    const TextPorts ports = ports_of(node);
    std::vector<std::string> met;
    for (std::size_t i = ports.first; i < static_cast<std::size_t>(node.input_size()); ++i)
      if (i <= ports.last) met.push_back(scope + node.input(static_cast<int>(i)));
    if (ports.gives_texts)
      for (const std::string& output : node.output()) met.push_back(scope + output);
    for (const AttributeProto& attribute : node.attribute()) {
      if (node.input_size() > 0) words(scope + node.input(0), attribute, looked_up);
      if (node.output_size() > 0) words(scope + node.output(0), attribute, given);
      if (attribute.has_g()) body(met, attribute.g(), scope);
    }
    if (is_reader(node) && node.output_size() > 0)
      groups_.add(scope + node.output(0), default_texts);
    // Inputs that are left out have no name.
    std::erase(met, scope);
    for (const std::string& name : met) groups_.join(met.front(), name);
  }

  /// `names`: of attributes whose texts the tensor may have.
  void words(const std::string& tensor, const AttributeProto& attribute,
             std::span<const std::string_view> names) {
    if (std::ranges::find(names, attribute.name()) != names.end()) every_word(tensor, attribute);
  }

  void every_word(const std::string& tensor, const AttributeProto& attribute) {
    groups_.add(tensor, attribute.strings());
    groups_.add(tensor, attribute.t().string_data());
    if (attribute.has_s()) groups_.add(tensor, std::array{attribute.s()});
  }

  void body(std::vector<std::string>& met, const GraphProto& body, const std::string& scope) {
    graph(body, scope);
    for (const ValueInfoProto& input : body.input()) met.push_back(scope + input.name());
    for (const ValueInfoProto& output : body.output()) met.push_back(scope + output.name());
  }

  /// All calls of a function share the names of its body. Texts among the call's attributes may
  /// meet any of them.
  void call(const NodeProto& node, const FunctionProto& function, const std::string& scope) {
    const std::string inner = function_name(function) + ' ';
    std::vector<std::string> met;
    const auto meet = [&](const auto& names, const auto& names_inside) {
      for (int i = 0; i < std::min(names.size(), names_inside.size()); ++i) {
        met.push_back(scope + names.Get(i));
        groups_.join(met.back(), inner + names_inside.Get(i));
      }
    };
    meet(node.input(), function.input());
    meet(node.output(), function.output());
    const auto has_words = [](const AttributeProto& attribute) {
      return attribute.strings_size() > 0 || attribute.t().string_data_size() > 0 ||
             attribute.has_s();
    };
    if (met.empty() || (std::ranges::none_of(node.attribute(), has_words) &&
                        std::ranges::none_of(function.attribute_proto(), has_words)))
      return;
    for (const AttributeProto& each : node.attribute()) every_word(met.front(), each);
    for (const AttributeProto& each : function.attribute_proto()) every_word(met.front(), each);
    for (const std::string& name : met) groups_.join(met.front(), name);
  }

  const Functions& functions_;
  Groups groups_;
};

}  // namespace

bool holds_texts(const ValueInfoProto& port) {
  return port.type().has_tensor_type() &&
         port.type().tensor_type().elem_type() == TensorProto::STRING;
}

std::map<std::string, TextListPtr> lists_of_inputs(const ModelProto& model,
                                                   const Functions& functions) {
  std::map<std::string, TextListPtr> lists;
  if (std::ranges::none_of(model.graph().input(), holds_texts)) return lists;
  Scan scan(model, functions);
  const std::map<std::size_t, TextVector> texts = scan.groups().texts();
  std::map<std::size_t, TextListPtr> by_group;
  for (const ValueInfoProto& input : model.graph().input()) {
    if (!holds_texts(input)) continue;
    const std::size_t group = scan.groups().root(input.name());
    const auto found = texts.find(group);
    TextListPtr& list = by_group[group];
    if (!list)
      list = std::make_shared<const TextList>(found == texts.end() ? TextVector() : found->second,
                                              true);
    lists.emplace(input.name(), list);
  }
  return lists;
}

}  // namespace dyn::onnx
