// If: both branches become nodes of the module, and a run computes one of them.

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/texts/text_node.hpp"

namespace dyn::onnx {
namespace {

constexpr const char *then_name = "then_branch", *else_name = "else_branch";

const GraphProto& branch_of(const NodeContext& context, const char* name) {
  const AttributeProto* attribute = context.attribute(name);
  if (attribute == nullptr || !attribute->has_g())
    context.fail(fmt::format("it needs the graph {}", name));
  return attribute->g();
}

/// Nothing where one value cannot be either.
std::optional<ValueId> choose(NodeContext& context, ValueId condition, ValueId then,
                              ValueId otherwise) {
  const graph::TensorType a = context.builder().type(then), b = context.builder().type(otherwise);
  if (a.dtype != b.dtype || a.rank() != b.rank()) return std::nullopt;
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

/// The nodes from there on ask something of sizes when the model runs, whichever branch they are
/// of.
bool ask_of_sizes(NodeContext& context, std::size_t first) {
  for (std::size_t i = first; i < context.builder().node_count(); ++i)
    if (!context.builder().constraints(i).empty()) return true;
  return false;
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
    if (proto.data_type() == TensorProto::STRING) {
      operands.insert_or_assign(name, std::make_shared<Operand>(texts_operand(copy)));
      return;
    }
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

OperandList Converter::convert_body(const GraphProto& body, const Operands& constants,
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
  state_.sources = inner.take_sources();
  OperandList outputs;
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

OperandList Converter::convert_branch(const GraphProto& branch) {
  return convert_body(branch, constants_of(branch), {});
}

void Converter::take_branch(NodeContext& context, const char* name) {
  const OperandList results = convert_branch(branch_of(context, name));
  if (results.size() < context.outputs())
    context.fail(fmt::format("its graph {} has {} outputs, but the node {}", name, results.size(),
                             context.outputs()));
  for (std::size_t i = 0; i < context.outputs(); ++i) context.give(results[i], i);
}

/// Both branches become nodes of the module where their results fit each other. Else what decides
/// between them does so before: the import begins again with what it has to know.
void Converter::convert_if(NodeContext& context) {
  if (const Tensor* known = context.constant(0)) {
    if (known->elements() != 1)
      context.fail(fmt::format("its condition has {} elements, not 1", known->elements()));
    return take_branch(context, integers_of(*known).front() != 0 ? then_name : else_name);
  }
  const std::optional<Dim> by_sizes = context.condition_on_sizes();
  if (by_sizes && context.splits(*by_sizes))
    return take_branch(context, context.holds(*by_sizes) ? then_name : else_name);
  ValueId condition = context.value(0);
  if (context.builder().type(condition).rank() > 0)
    condition = context.add("reshape", {condition}, {{"shape", std::vector<Dim>{}}});
  const GraphProto &then = branch_of(context, then_name),
                   &otherwise = branch_of(context, else_name);
  const std::size_t first = context.builder().node_count();
  OperandList yes, no;
  try {
    yes = convert_branch(then);
    no = convert_branch(otherwise);
  } catch (const Error&) {
    context.decide_earlier(by_sizes);
    throw;
  }
  if (yes.size() != no.size() || yes.size() < context.outputs())
    context.fail(fmt::format("its branches have {} and {} outputs, and the node {}", yes.size(),
                             no.size(), context.outputs()));
  if (ask_of_sizes(context, first)) context.decide_earlier(by_sizes);
  for (std::size_t i = 0; i < context.outputs(); ++i) {
    if (context.wants(i)) give_either(context, condition, by_sizes, *yes[i], *no[i], i);
  }
}

void Converter::give_either(NodeContext& context, ValueId condition, std::optional<Dim> by_sizes,
                            Operand& yes, Operand& no, std::size_t output) {
  const Refusal* refusal = yes.refusal ? yes.refusal.get() : no.refusal.get();
  if (refusal != nullptr) return context.refuse(refusal->message, output);
  const auto is_tensor = [](const Operand& each) {
    return !each.sequence && !each.is_nothing && !each.texts;
  };
  if (!is_tensor(yes) || !is_tensor(no)) {
    context.decide_earlier(by_sizes);
    return context.refuse(
        "data decide which of two sequences, optional values or tensors of texts it is; that is "
        "not supported",
        output);
  }
  const ValueId a = context.value_of(yes), b = context.value_of(no);
  if (const std::optional<ValueId> either = choose(context, condition, a, b))
    return context.give(*either, output);
  context.decide_earlier(by_sizes);
  context.refuse(
      fmt::format("one branch gives {}, the other {}, and data decide between them; "
                  "a value of several ranks or dtypes is not supported",
                  to_string(context.builder().type(a)), to_string(context.builder().type(b))),
      output);
}

}  // namespace dyn::onnx
