#include "src/import/onnx/functions.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::onnx {
namespace {

std::string full_name(const std::string& domain, const std::string& name,
                      const std::string& overload) {
  return (is_standard(domain) ? "" : domain + ".") + name +
         (overload.empty() ? "" : ":" + overload);
}

/// The key that a call and its function share; no name contains the separator.
std::string key_of(const std::string& domain, const std::string& name,
                   const std::string& overload) {
  constexpr char separator = '\0';
  return (is_standard(domain) ? "" : domain) + separator + name + separator + overload;
}

/// Goes through all calls, depth first and with a stack of its own: a file may nest calls as deeply
/// as it likes.
class CallWalk {
 public:
  explicit CallWalk(const Functions& functions) : functions_(functions) {}

  /// The graph's own nodes do not count: the file holds each of them.
  void visit(const GraphProto& graph) {
    enter(nullptr, graph.node(), 0);
    finish();
  }

  void visit(const FunctionProto& function) {
    if (sizes_.contains(&function)) return;
    enter(&function);
    finish();
  }

 private:
  struct Body {
    const FunctionProto* function;  ///< nullptr: the model's graph
    std::vector<const FunctionProto*> callees;
    std::int64_t size;
    std::size_t next = 0;
  };

  void enter(const FunctionProto* function) {
    std::int64_t size = 0;
    for (const NodeProto& node : function->node())
      size += std::max(static_cast<std::int64_t>(node.ByteSizeLong()), Functions::least_size);
    sizes_[function] = on_the_way;
    enter(function, function->node(), size);
  }

  void enter(const FunctionProto* function, const RepeatedPtrField<NodeProto>& nodes,
             std::int64_t size) {
    bodies_.push_back({function, {}, size});
    for_each_node(nodes, [&](const NodeProto& node) {
      if (const FunctionProto* callee = functions_.find(node))
        bodies_.back().callees.push_back(callee);
    });
  }

  void finish() {
    while (!bodies_.empty()) {
      Body& body = bodies_.back();
      if (body.size > Functions::largest_size) fail_size(body);
      if (body.next == body.callees.size()) {
        sizes_[body.function] = body.size + Functions::least_size;
        bodies_.pop_back();
        continue;
      }
      const FunctionProto* callee = body.callees[body.next];
      const auto known = sizes_.find(callee);
      if (known == sizes_.end()) {
        enter(callee);
      } else if (known->second == on_the_way) {
        fail_circle(callee);
      } else {
        body.size += known->second;
        ++body.next;
      }
    }
  }

  [[noreturn]] static void fail_size(const Body& body) {
    throw Error(
        ErrorKind::model,
        fmt::format("{}, with the functions that it calls and those that they call, is more than a "
                    "million nodes, or a GiB of them; use fewer calls",
                    body.function == nullptr ? "the graph"
                                             : "the function " + function_name(*body.function)));
  }

  /// "a -> b -> a"; the middle of a long circle is left out.
  [[noreturn]] void fail_circle(const FunctionProto* closing) const {
    constexpr std::ptrdiff_t most_named = 8;
    const auto begin = std::ranges::find(bodies_, closing, &Body::function);
    const std::ptrdiff_t count = bodies_.end() - begin;
    std::string text;
    for (auto each = begin; each != begin + std::min(count, most_named); ++each)
      text += function_name(*each->function) + " -> ";
    if (count > most_named) text += fmt::format("... ({} more) -> ", count - most_named);
    throw Error(ErrorKind::model,
                fmt::format("functions call each other in a circle, which never ends: {}{}", text,
                            function_name(*closing)));
  }

  static constexpr std::int64_t on_the_way = -1;
  const Functions& functions_;
  std::map<const FunctionProto*, std::int64_t> sizes_;  ///< of a call
  std::vector<Body> bodies_;
};

const AttributeProto* find_attribute(const RepeatedPtrField<AttributeProto>& attributes,
                                     const std::string& name) {
  const auto found = std::ranges::find_if(
      attributes, [&](const AttributeProto& each) { return each.name() == name; });
  return found == attributes.end() ? nullptr : &*found;
}

/// Binds the body of one function to one call.
class Binding {
 public:
  Binding(const FunctionProto& function, const NodeProto& call) : function_(function), call_(call) {
    for (int i = 0; i < function.input_size(); ++i) {
      if (i >= call.input_size() || call.input(i).empty()) left_out_.insert(function.input(i));
    }
  }

  void bind(NodeProto& node) const {
    for (std::string& input : *node.mutable_input()) {
      if (left_out_.contains(input)) input.clear();
    }
    while (node.input_size() > 0 && node.input(node.input_size() - 1).empty())
      node.mutable_input()->RemoveLast();
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      if (!bind(attributes[i], node)) attributes.DeleteSubrange(i, 1);
    }
  }

 private:
  /// False where the attribute has no value.
  bool bind(AttributeProto& attribute, const NodeProto& node) const {
    if (!attribute.ref_attr_name().empty()) {
      const AttributeProto* value = value_of(attribute.ref_attr_name(), node);
      if (value == nullptr) return false;
      const std::string name = attribute.name();
      attribute = *value;
      attribute.set_name(name);
      return true;
    }
    if (attribute.has_g()) bind(*attribute.mutable_g());
    for (GraphProto& graph : *attribute.mutable_graphs()) bind(graph);
    return true;
  }

  void bind(GraphProto& graph) const {
    for (NodeProto& node : *graph.mutable_node()) bind(node);
  }

  const AttributeProto* value_of(const std::string& name, const NodeProto& node) const {
    if (const AttributeProto* given = find_attribute(call_.attribute(), name)) return given;
    if (const AttributeProto* usual = find_attribute(function_.attribute_proto(), name))
      return usual;
    if (std::ranges::find(function_.attribute(), name) != function_.attribute().end())
      return nullptr;
    throw Error(
        ErrorKind::model,
        fmt::format("{} \"{}\": it refers to the attribute {}, which the function does not have",
                    node.op_type(), node.name(), name));
  }

  const FunctionProto& function_;
  const NodeProto& call_;
  std::set<std::string> left_out_;
};

}  // namespace

bool is_standard(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::string operator_name(const NodeProto& node) {
  return full_name(node.domain(), node.op_type(), node.overload());
}

std::string function_name(const FunctionProto& function) {
  return full_name(function.domain(), function.name(), function.overload());
}

Functions::Functions(const ModelProto& model) {
  for (const FunctionProto& function : model.functions()) {
    if (!functions_
             .emplace(key_of(function.domain(), function.name(), function.overload()), &function)
             .second)
      throw Error(ErrorKind::model,
                  fmt::format("two functions are called {}", function_name(function)));
  }
  CallWalk calls(*this);
  for (const FunctionProto& function : model.functions()) calls.visit(function);
  calls.visit(model.graph());
}

const FunctionProto* Functions::find(const NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<const FunctionProto*> Functions::called_by(const GraphProto& graph) const {
  std::vector<const FunctionProto*> called;
  std::set<const FunctionProto*> seen;
  const auto visit = [&](const NodeProto& node) {
    const FunctionProto* function = find(node);
    if (function != nullptr && seen.insert(function).second) called.push_back(function);
  };
  for_each_node(graph.node(), visit);
  for (std::size_t i = 0; i < called.size(); ++i) for_each_node(called[i]->node(), visit);
  return called;
}

NodeProto bound_node(const NodeProto& node, const FunctionProto& function, const NodeProto& call) {
  NodeProto bound = node;
  Binding(function, call).bind(bound);
  return bound;
}

}  // namespace dyn::onnx
