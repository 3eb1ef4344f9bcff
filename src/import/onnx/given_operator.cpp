#include "src/import/onnx/given_operator.hpp"

#include <fmt/format.h>

#include "graph/ir/custom_op.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/suggest.hpp"
#include "src/import/onnx/functions.hpp"

namespace dyn::onnx {
namespace {

graph::Attr attribute_of(NodeContext& context, const AttributeProto& attribute,
                         const graph::AttrDef& def) {
  switch (def.kind) {
    case graph::AttrKind::Boolean: return {def.name, context.integer(def.name, 0) != 0};
    case graph::AttrKind::Float: return {def.name, context.number(def.name, 0)};
    case graph::AttrKind::Integer:
      return context.dim(def.name.c_str(), context.integer(def.name, 0));
    case graph::AttrKind::IntegerList:
      if (attribute.type() != AttributeProto::INTS)
        context.fail(fmt::format("its attribute {} must be a list of integers", def.name));
      return context.integer_list(def.name.c_str(), *context.integers(def.name));
    default: break;
  }
  const std::string word = context.word(def.name, "");
  if (graph::quote_name(word) != word)
    context.fail_unsupported(
        fmt::format("its attribute {} is {}; it can be one word of letters, "
                    "digits and _",
                    def.name, graph::quote_text(word)));
  return {def.name, word};
}

}  // namespace

const graph::OpDef* find_given_operator(const GraphState& state, const NodeProto& node) {
  const graph::CustomOps* operators = state.builder.operators().get();
  if (operators == nullptr) return nullptr;
  const std::string domain = is_standard(node.domain()) ? "ai.onnx" : node.domain();
  return operators->find(domain + "::" + node.op_type());
}

void convert_given_operator(NodeContext& context, const graph::OpDef& op) {
  std::vector<graph::Attr> attrs;
  for (const AttributeProto& attribute : context.node().attribute()) {
    const graph::AttrDef* def = op.find_attr(attribute.name());
    if (def == nullptr)
      context.fail(unknown_attribute(op, attribute.name(), fmt::format("`{}`", attribute.name())));
    attrs.push_back(attribute_of(context, attribute, *def));
  }
  std::size_t count = context.inputs();
  while (count > 0 && !context.has(count - 1)) --count;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < count; ++i) inputs.push_back(context.value(i));
  const std::vector<ValueId> results =
      context.add_all(op.name, std::move(inputs), std::move(attrs));
  for (std::size_t i = 0; i < context.outputs() && i < results.size(); ++i)
    if (context.wants(i)) context.give(results[i], i);
}

}  // namespace dyn::onnx
