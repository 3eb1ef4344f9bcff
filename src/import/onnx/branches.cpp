// If: both branches become nodes of the module, and a run computes one of them.

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/converter.hpp"

namespace dyn::onnx {
namespace {

const GraphProto& branch_of(const NodeContext& context, const char* name) {
  const AttributeProto* attribute = context.attribute(name);
  if (attribute == nullptr || !attribute->has_g())
    context.fail(fmt::format("it needs the graph {}", name));
  return attribute->g();
}

ValueId choose(NodeContext& context, ValueId condition, ValueId then, ValueId otherwise) {
  const graph::TensorType a = context.builder().type(then), b = context.builder().type(otherwise);
  if (a.dtype != b.dtype || a.rank() != b.rank())
    context.fail_unsupported(fmt::format(
        "one branch gives {}, the other {}; results of several ranks or dtypes are not supported",
        to_string(a), to_string(b)));
  bool differ = false;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    const bool same = prove_equal(a.dims[i], b.dims[i]) == true;
    differ = differ || !same;
    dims.push_back(same ? a.dims[i] : context.defined_dim("result"));
  }
  return context.add("if", {condition, then, otherwise},
                     {{"dims", differ ? dims : std::vector<Dim>{}}});
}

/// The tensor of a Constant; nullptr where the node is none, or has a number or a list.
const TensorProto* constant_tensor(const NodeProto& node, const Functions& functions) {
  if (node.op_type() != "Constant" || node.output_size() != 1 || functions.find(node) != nullptr)
    return nullptr;
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  }
  return nullptr;
}

}  // namespace

Operands Converter::constants_of(const GraphProto& body) const {
  Operands operands;
  const auto add = [&](const TensorProto& proto, const std::string& name) {
    TensorProto copy = proto;
    Tensor tensor = take_tensor(copy, state_.files);
    operands.insert_or_assign(
        name, std::make_shared<Operand>(Operand{graph::no_value,
                                                std::make_shared<const Tensor>(std::move(tensor)),
                                                std::nullopt, name}));
  };
  for (const TensorProto& proto : body.initializer()) add(proto, proto.name());
  for (const NodeProto& node : body.node()) {
    if (const TensorProto* tensor = constant_tensor(node, functions_)) add(*tensor, node.output(0));
  }
  return operands;
}

std::vector<std::shared_ptr<Operand>> Converter::convert_body(const GraphProto& body,
                                                              const Operands& constants,
                                                              const Operands& inputs) {
  const Operands around = state_.operands;
  for (const Operands* own : {&constants, &inputs}) {
    for (const auto& [name, operand] : *own) state_.operands.insert_or_assign(name, operand);
  }
  Converter inner(state_, functions_);
  for (const NodeProto& node : body.node()) {
    if (constant_tensor(node, functions_) != nullptr) continue;
    NodeProto copy = node;
    inner.convert(copy);
  }
  std::vector<std::shared_ptr<Operand>> outputs;
  for (const ValueInfoProto& output : body.output()) {
    const auto found = state_.operands.find(output.name());
    if (found == state_.operands.end())
      throw Error(ErrorKind::model,
                  fmt::format("the output \"{}\" of the graph {} is defined nowhere", output.name(),
                              body.name()));
    outputs.push_back(found->second);
  }
  state_.operands = around;
  return outputs;
}

std::vector<std::shared_ptr<Operand>> Converter::convert_branch(const GraphProto& branch) {
  return convert_body(branch, constants_of(branch), {});
}

void Converter::convert_if(NodeContext& context) {
  const GraphProto &then = branch_of(context, "then_branch"),
                   &otherwise = branch_of(context, "else_branch");
  if (const Tensor* known = context.constant(0)) {
    if (known->elements() != 1)
      context.fail(fmt::format("its condition has {} elements, not 1", known->elements()));
    const auto results = convert_branch(integers_of(*known).front() != 0 ? then : otherwise);
    for (std::size_t i = 0; i < results.size() && i < context.outputs(); ++i)
      context.give(results[i], i);
    return;
  }
  ValueId condition = context.value(0);
  if (context.builder().type(condition).rank() > 0)
    condition = context.add("reshape", {condition}, {{"shape", std::vector<Dim>{}}});
  const auto yes = convert_branch(then), no = convert_branch(otherwise);
  if (yes.size() != no.size())
    context.fail(fmt::format("one branch has {} outputs, the other {}", yes.size(), no.size()));
  for (std::size_t i = 0; i < yes.size() && i < context.outputs(); ++i) {
    if (context.wants(i))
      context.give(choose(context, condition, context.value_of(*yes[i]), context.value_of(*no[i])),
                   i);
  }
}

}  // namespace dyn::onnx
