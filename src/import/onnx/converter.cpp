#include "src/import/onnx/converter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/given_operator.hpp"
#include "src/import/onnx/half_node.hpp"
#include "src/import/onnx/import.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/folded.hpp"
#include "src/import/onnx/sequences.hpp"
#include "src/import/onnx/sizes/freed_check.hpp"
#include "src/import/onnx/texts/text_node.hpp"

namespace dyn::onnx {

Converter::ConvertGraphs Converter::find_graph_conversion(const NodeProto& node) {
  static constexpr std::pair<std::string_view, ConvertGraphs> operators[] = {
      {"If", &Converter::convert_if},
      {"Loop", &Converter::convert_loop},
      {"Scan", &Converter::convert_scan},
      {"SequenceMap", &Converter::convert_sequence_map}};
  if (node.domain() == preview_domain && node.op_type() == "FlexAttention")
    return &Converter::convert_flex_attention;
  for (const auto& [name, convert] : operators)
    if (is_standard(node.domain()) && name == node.op_type()) return convert;
  return nullptr;
}

bool Converter::knows(const NodeProto& node) {
  return find_graph_conversion(node) != nullptr || find_sequence_conversion(node) != nullptr ||
         find_conversion(node) != nullptr;
}

void Converter::convert(NodeProto& node) {
  try {
    step(node);
    while (!calls_.empty()) {
      Call& call = calls_.back();
      if (call.next == call.function->node_size()) {
        leave();
      } else {
        NodeProto inner = bound_node(call.function->node(call.next++), *call.function, call.node);
        step(inner);
      }
    }
  } catch (const Error& error) { throw calls_.empty() ? error : error.within(place()); }
}

void Converter::step(NodeProto& node) {
  const FunctionProto* function =
      find_given_operator(state_, node) == nullptr ? functions_.find(node) : nullptr;
  if (function != nullptr)
    enter(node, *function);
  else
    convert_operator(node);
}

/// Results follow from integers where an input does.
void Converter::mark_from_integers(NodeContext& context) {
  bool follow = false;
  for (std::size_t i = 0; i < context.inputs(); ++i)
    follow = follow || (context.has(i) && context.operand(i)->is_from_integers);
  if (!follow) return;
  for (const std::string& output : context.node().output()) {
    const auto made = state_.operands.find(output);
    if (made != state_.operands.end()) made->second->is_from_integers = true;
  }
}

void Converter::convert_operator(NodeProto& node) {
  try {
    NodeContext context(state_, node);
    for (const AttributeProto& attribute : node.attribute()) {
      if (!attribute.ref_attr_name().empty())
        context.fail(fmt::format("its attribute {} refers to one of a function, but it is in none",
                                 attribute.name()));
    }
    if (node.output_size() == 0) context.fail("it has no outputs");
    const std::size_t first_new = state_.builder.node_count();
    if (const graph::OpDef* given = find_given_operator(state_, node))
      convert_given_operator(context, *given);
    else if (const ConvertGraphs with_graphs = find_graph_conversion(node))
      (this->*with_graphs)(context);
    else if (const Convert of_sequences = find_sequence_conversion(node))
      of_sequences(context);
    else if (reads_texts(context))
      convert_texts(state_, node, context, *find_conversion(node));
    else if (!give_folded_floats(context))
      convert_halves(state_, node, context, *find_conversion(node));
    mark_from_integers(context);
    check_freed(context, first_new);
    sources_.resize(first_new);
    sources_.resize(
        state_.builder.node_count(),
        calls_.empty() ? describe(node) : fmt::format("{} in {}", describe(node), place()));
    for (std::size_t i = 0; i < context.outputs(); ++i) {
      if (context.wants(i) && !state_.operands.contains(node.output(static_cast<int>(i))))
        context.fail_unsupported(
            fmt::format("its output \"{}\" is not supported", node.output(static_cast<int>(i))));
    }
  } catch (const Error& error) { throw error.within(describe(node)); }
}

void Converter::enter(NodeProto& node, const FunctionProto& function) {
  NodeContext context(state_, node);
  if (node.input_size() > function.input_size())
    context.fail(fmt::format("it gives {} inputs, but the function {} has {}", node.input_size(),
                             function_name(function), function.input_size()));
  if (node.output_size() > function.output_size())
    context.fail(fmt::format("it takes {} outputs, but the function {} has {}", node.output_size(),
                             function_name(function), function.output_size()));
  Operands inputs;
  for (int i = 0; i < node.input_size(); ++i) {
    const auto input = static_cast<std::size_t>(i);
    if (context.has(input) && !inputs.emplace(function.input(i), context.operand(input)).second)
      context.fail(fmt::format("two inputs of the function {} are called \"{}\"",
                               function_name(function), function.input(i)));
  }
  calls_.push_back(
      {{}, &function, std::exchange(state_.operands, std::move(inputs)), state_.opset});
  calls_.back().node.Swap(&node);
  state_.opset = standard_opset(function.opset_import()).value_or(state_.opset);
}

void Converter::leave() {
  std::vector<std::shared_ptr<Operand>> outputs;
  {
    const Call& call = calls_.back();
    for (int i = 0; i < call.node.output_size(); ++i) {
      const auto found = state_.operands.find(call.function->output(i));
      const bool wanted = !call.node.output(i).empty();
      if (wanted && found == state_.operands.end())
        throw Error(ErrorKind::model,
                    fmt::format("{}: the output \"{}\" of the function {} is defined nowhere in it",
                                describe(call.node), call.function->output(i),
                                function_name(*call.function)));
      outputs.push_back(wanted ? found->second : nullptr);
    }
  }
  Call call = std::move(calls_.back());
  calls_.pop_back();
  state_.operands = std::move(call.callers_operands);
  state_.opset = call.callers_opset;
  NodeContext context(state_, call.node);
  for (std::size_t i = 0; i < outputs.size(); ++i) context.give(std::move(outputs[i]), i);
}

std::string Converter::place() const {
  const std::string inner = "the function " + function_name(*calls_.back().function),
                    outer = describe(calls_.front().node);
  return calls_.size() == 1 ? fmt::format("{}, which {} calls", inner, outer)
                            : fmt::format("{}, {} calls below {}", inner, calls_.size() - 1, outer);
}

std::optional<int> standard_opset(const RepeatedPtrField<OperatorSetIdProto>& sets) {
  std::optional<int> opset;
  for (const OperatorSetIdProto& set : sets) {
    if (!is_standard(set.domain())) continue;
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    if (set.version() < first_opset || set.version() > most)
      throw Error(ErrorKind::unsupported,
                  fmt::format("it needs opset {}; opsets {} to {} are known", set.version(),
                              first_opset, last_opset));
    opset = static_cast<int>(set.version());
  }
  return opset;
}

}  // namespace dyn::onnx
