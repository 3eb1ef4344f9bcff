// Decisions on the structure of a node, by sizes, small inputs and data.

#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {
namespace {

/// Adds the inputs of rank 0 and 1 from which alone the value follows: such inputs hold sizes, axes
/// and the like. False where it depends on others too.
bool add_deciding(const GraphState& graph, ValueId wanted, std::set<std::string>& inputs) {
  std::unordered_set<ValueId> seen;
  std::vector<ValueId> open{wanted};
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    const graph::Value& value = graph.builder.value(id);
    if (value.kind == graph::ValueKind::Input && graph.outside != nullptr) {
      const auto outside = graph.captured.find(id);
      if (outside == graph.captured.end() || !add_deciding(*graph.outside, outside->second, inputs))
        return false;
    } else if (value.kind == graph::ValueKind::Input) {
      if (value.type.rank() > 1) return false;
      if (!graph.known_inputs.contains(id)) inputs.insert(value.name);
    }
    if (value.producer < 0) continue;
    const graph::Node& producer = graph.builder.node(value.producer);
    open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
  }
  return true;
}

}  // namespace

std::set<std::string> NodeContext::asked_for() const {
  std::set<std::string> all;
  for (const ValueId id : lacked_) {
    std::set<std::string> inputs;
    if (id != graph::no_value && add_deciding(state_, id, inputs)) all.merge(inputs);
  }
  return all;
}

bool NodeContext::is_one(Dim dim) {
  if (const std::optional<bool> known = prove_equal(dim, dims().constant(1))) return *known;
  if (is_defined(dim)) return false;
  const std::string text = graph::to_string(dim);
  if (!state_.ones.contains(text)) {
    state_.unlike_ones.push_back({dim, text});
    return false;
  }
  if (sizes().depends(dim))
    fail_unsupported(fmt::format(
        "without axes it removes dims of 1; {} is one in this run, and as a dim that is freed it "
        "must be another size",
        text));
  return true;
}

std::optional<Dim> NodeContext::condition_on_sizes() {
  const std::optional<KnownInts> known = ints_of_any_rank(0);
  if (!known || known->elements.size() != 1 || is_defined(known->elements[0]) ||
      state_.outside != nullptr)  // its sizes have no names outside
    return std::nullopt;
  return known->elements[0];
}

bool NodeContext::splits(Dim condition) const {
  return state_.by_sizes.contains(graph::to_string(condition));
}

bool NodeContext::holds(Dim condition) {
  const Dim one = dims().constant(1);
  if (const std::optional<bool> known = prove_equal(condition, one)) return *known;
  const std::string text = graph::to_string(condition);
  const bool answer = state_.ones.contains(text);
  state_.conditions.push_back({text, answer});
  if (!answer) state_.unlike_ones.push_back({condition, text});
  if (answer || is_alone()) {
    const ValueId all = integer_values({DType::i64, false, {condition}}, "condition");
    add("reshape", {all},
        {dim_list("shape", std::vector{one}),
         dim_list("not_one", std::vector{answer ? one - condition : condition})});
  }
  return answer;
}

void NodeContext::decide_earlier(std::optional<Dim> condition) const {
  if (condition) throw UndecidedBySizes{graph::to_string(*condition)};
  if (std::set<std::string> inputs = asked_for(); !inputs.empty())
    throw UndecidedStructure{std::move(inputs)};
}

std::string NodeContext::loop_name() const { return describe(node_) + " " + node_.output(0); }

bool NodeContext::is_decided_by_data() const { return state_.by_data.contains(loop_name()); }

void NodeContext::decide_by_data() const { throw UndecidedByData{loop_name()}; }

void NodeContext::refuse(const std::string& message, std::size_t output) {
  Operand operand;
  operand.refusal = std::make_shared<const Refusal>(
      Refusal{fmt::format("{}: {}", describe(node_), message), asked_for()});
  give(std::move(operand), output);
}

bool NodeContext::is_defined(Dim dim) {
  bool found = false;
  for_each_symbol(dim, [&](int symbol) { found |= dims().info(symbol).defined; });
  return found;
}

}  // namespace dyn::onnx
