// Loop and Scan whose number of steps is known when the model is imported are unrolled: the steps
// follow each other as nodes of the module.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// A loop with more steps is not unrolled, since loops in loops multiply.
constexpr std::int64_t most_steps = 1024, most_unrolled_nodes = 100'000;

const GraphProto& body_of(const NodeContext& context) {
  const AttributeProto* attribute = context.attribute("body");
  if (attribute == nullptr || !attribute->has_g()) context.fail("it needs the graph body");
  return attribute->g();
}

std::shared_ptr<Operand> scalar(DType dtype, std::int64_t value, const std::string& name) {
  Tensor tensor{dtype, {}, std::string(reinterpret_cast<const char*>(&value), size_of(dtype))};
  return std::make_shared<Operand>(Operand{
      graph::no_value, std::make_shared<const Tensor>(std::move(tensor)), std::nullopt, name});
}

/// Nothing where the number depends on data.
std::optional<bool> known_condition(const Operand& operand) {
  if (operand.constant && operand.constant->elements() == 1)
    return integers_of(*operand.constant).front() != 0;
  if (operand.ints && operand.ints->elements.size() == 1) {
    if (const auto value = operand.ints->elements.front().constant()) return *value != 0;
  }
  return std::nullopt;
}

Operands bound(const NodeContext& context, const GraphProto& body, const OperandList& values) {
  if (static_cast<std::size_t>(body.input_size()) != values.size())
    context.fail(
        fmt::format("its body has {} inputs, and gets {}", body.input_size(), values.size()));
  Operands operands;
  for (int i = 0; i < body.input_size(); ++i)
    operands[body.input(i).name()] = values[static_cast<std::size_t>(i)];
  return operands;
}

void count_step(NodeContext& context, const GraphProto& body, GraphState& state) {
  state.unrolled_nodes += body.node_size() + 1;
  if (state.unrolled_nodes > most_unrolled_nodes)
    context.fail_unsupported(fmt::format(
        "loops of more than {} nodes in all steps are not supported", most_unrolled_nodes));
}

/// While it lives, equal constants become one weight: loops in the body repeat theirs.
class Unrolling {
 public:
  explicit Unrolling(GraphState& state) : state_(state) { ++state_.unrolled_loops; }
  ~Unrolling() {
    if (--state_.unrolled_loops == 0) state_.weights_in_loops.clear();
  }
  Unrolling(const Unrolling&) = delete;
  Unrolling& operator=(const Unrolling&) = delete;

 private:
  GraphState& state_;
};

/// The steps' values next to each other along a new axis.
ValueId stacked(NodeContext& context, const OperandList& steps, std::int64_t axis, bool reversed) {
  std::vector<TensorExpr> parts;
  for (const auto& step : steps) {
    const TensorExpr part{context, context.value_of(*step)};
    parts.push_back(unsqueeze(part, context.axis(axis, part.rank() + 1)));
  }
  if (reversed) std::ranges::reverse(parts);
  const int along = context.axis(axis, parts.front().rank());
  return parts.size() == 1 ? parts.front().id() : concat(parts, along).id();
}

}  // namespace

void Converter::convert_loop(NodeContext& context) {
  const GraphProto& body = body_of(context);
  if (!context.has(0)) context.fail_unsupported("a loop without a trip count is not supported");
  const std::int64_t most = context.need_integer(0, "its trip count");
  std::optional<bool> goes_on = true;
  if (context.has(1)) {
    context.constant(1);  // asks for the value where an input decides it
    goes_on = known_condition(*context.operand(1));
  }
  OperandList carried;
  for (std::size_t i = 2; i < context.inputs(); ++i) carried.push_back(context.operand(i));
  const Operands own = constants_of(body);
  const Unrolling unrolling(state_);
  std::vector<OperandList> collected;
  for (std::int64_t step = 0; step < most; ++step) {
    if (!goes_on) context.fail_unsupported("a condition that depends on data is not supported");
    if (!*goes_on) break;
    if (step == most_steps)
      context.fail_unsupported(fmt::format("more than {} steps are not supported", most_steps));
    count_step(context, body, state_);
    OperandList values{scalar(DType::i64, step, body.name() + ".step"),
                       scalar(DType::boolean, 1, body.name() + ".condition")};
    values.insert(values.end(), carried.begin(), carried.end());
    OperandList results = convert_body(body, own, bound(context, body, values));
    if (results.size() < carried.size() + 1)
      context.fail(fmt::format("its body has {} outputs for {} values that go on", results.size(),
                               carried.size()));
    goes_on = known_condition(*results[0]);
    const auto scanned = results.begin() + 1 + static_cast<std::ptrdiff_t>(carried.size());
    collected.resize(static_cast<std::size_t>(results.end() - scanned));
    for (std::size_t i = 0; i < collected.size(); ++i)
      collected[i].push_back(scanned[static_cast<std::ptrdiff_t>(i)]);
    carried.assign(results.begin() + 1, scanned);
  }
  for (std::size_t i = 0; i < carried.size(); ++i) context.give(carried[i], i);
  for (std::size_t i = 0; i < collected.size(); ++i)
    if (context.wants(carried.size() + i))
      context.give(stacked(context, collected[i], 0, false), carried.size() + i);
}

void Converter::convert_scan(NodeContext& context) {
  const GraphProto& body = body_of(context);
  if (context.opset() < 9)
    context.fail_unsupported("Scan before opset 9, with a batch, is not supported");
  const auto scanned = static_cast<std::size_t>(context.integer("num_scan_inputs", 0));
  if (scanned < 1 || scanned > context.inputs())
    context.fail(fmt::format("num_scan_inputs is {}, of {} inputs", scanned, context.inputs()));
  const std::size_t states = context.inputs() - scanned;
  const auto list = [&](const char* name, std::size_t size) {
    std::vector<std::int64_t> values =
        context.integers(name).value_or(std::vector<std::int64_t>(size, 0));
    if (values.size() != size)
      context.fail(fmt::format("{} has {} elements, not {}", name, values.size(), size));
    return values;
  };
  if (static_cast<std::size_t>(body.output_size()) < states)
    context.fail(fmt::format("its body has {} outputs for {} states", body.output_size(), states));
  const std::size_t collects = static_cast<std::size_t>(body.output_size()) - states;
  const auto axes = list("scan_input_axes", scanned),
             directions = list("scan_input_directions", scanned);
  const auto output_axes = list("scan_output_axes", collects),
             output_directions = list("scan_output_directions", collects);
  std::optional<std::int64_t> steps;
  for (std::size_t i = 0; i < scanned; ++i) {
    const graph::TensorType type = context.type(states + i);
    const std::optional<std::int64_t> length =
        type.dims[static_cast<std::size_t>(context.axis(axes[i], type.rank()))].constant();
    if (!length) context.fail_unsupported("a length that is no constant is not supported");
    if (steps && *steps != *length)
      context.fail(fmt::format("its inputs have {} and {} steps", *steps, *length));
    steps = length;
  }
  if (*steps < 1 || *steps > most_steps)
    context.fail_unsupported(fmt::format("{} steps are not supported", *steps));
  OperandList carried;
  for (std::size_t i = 0; i < states; ++i) carried.push_back(context.operand(i));
  const Operands own = constants_of(body);
  const Unrolling unrolling(state_);
  std::vector<OperandList> collected(collects);
  for (std::int64_t step = 0; step < *steps; ++step) {
    count_step(context, body, state_);
    OperandList values = carried;
    for (std::size_t i = 0; i < scanned; ++i) {
      const TensorExpr x = input_expr(context, states + i);
      const int axis = context.axis(axes[i], x.rank());
      const Dim at = context.dims().constant(directions[i] != 0 ? *steps - 1 - step : step);
      Dims dims = x.dims();
      dims.erase(dims.begin() + axis);
      values.push_back(std::make_shared<Operand>(
          Operand{reshape(slice(x, axis, at, at + 1), dims).id(), nullptr, std::nullopt}));
    }
    OperandList results = convert_body(body, own, bound(context, body, values));
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(states);
    for (std::size_t i = 0; i < collects; ++i)
      collected[i].push_back(first[static_cast<std::ptrdiff_t>(i)]);
    carried.assign(results.begin(), first);
  }
  for (std::size_t i = 0; i < states; ++i) context.give(carried[i], i);
  for (std::size_t i = 0; i < collects; ++i)
    if (context.wants(states + i))
      context.give(stacked(context, collected[i], output_axes[i], output_directions[i] != 0),
                   states + i);
}

}  // namespace dyn::onnx
