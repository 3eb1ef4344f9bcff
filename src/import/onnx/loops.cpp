// Loop and Scan. A few steps whose number is known when the model is imported are unrolled: they
// follow each other as nodes of the module. Else the module has a loop.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/import/onnx/batched_scan.hpp"
#include "src/import/onnx/converter.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/rolled_loop.hpp"
#include "src/import/onnx/unrolling.hpp"

namespace dyn::onnx {
namespace {

/// A loop of no more nodes, in all steps, is faster unrolled.
constexpr std::int64_t few_nodes = 256;
/// What can be unrolled where a loop's body cannot be a graph of its own; loops in loops multiply.
constexpr std::int64_t most_steps = 1024;

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

std::int64_t node_count(const GraphProto& body) {
  std::int64_t count = 0;
  for_each_node(body.node(), [&](const NodeProto&) { ++count; });
  return count;
}

/// The number of steps where it is known now.
bool is_few(const GraphProto& body, std::optional<std::int64_t> steps) {
  return steps && *steps > 0 && *steps <= few_nodes && *steps * node_count(body) <= few_nodes;
}

ValueId scalar_of(NodeContext& context, std::size_t input) {
  const ValueId id = context.value(input);
  return context.builder().type(id).rank() == 0
             ? id
             : context.add("reshape", {id}, {{"shape", std::vector<Dim>{}}});
}

/// The most steps: a size, a number that is known, or one that a run knows.
struct TripCount {
  std::optional<Dim> size;
  std::optional<std::int64_t> known() const { return size ? size->constant() : std::nullopt; }
};

TripCount trip_count(NodeContext& context) {
  if (!context.has(0)) return {};
  const std::optional<KnownInts> known = context.ints_of_any_rank(0);
  if (!known || known->elements.size() != 1) return {};
  const Dim count = known->elements[0];
  return {graph::bounds(count).low >= 0 ? count : max(count, context.dims().constant(0))};
}

ValueId value_of_size(NodeContext& context, Dim size) {
  Operand operand{graph::no_value, nullptr, KnownInts{DType::i64, true, {size}}, "steps"};
  return context.value_of(operand);
}

/// Where the loop is unrolled after all, or what it is where that cannot be.
class Choice {
 public:
  Choice(NodeContext& context, const GraphProto& body, std::optional<std::int64_t> steps)
      : context_(context), body_(body), steps_(steps) {}

  bool unrolls() const { return is_few(body_, steps_) && !context_.is_decided_by_data(); }
  bool can_unroll() const {
    return steps_ && *steps_ > 0 && *steps_ <= most_steps &&
           *steps_ * node_count(body_) <= most_unrolled_nodes && !context_.is_decided_by_data();
  }

 private:
  NodeContext& context_;
  const GraphProto& body_;
  std::optional<std::int64_t> steps_;
};

/// x with this axis first, the other way round where it is reversed.
ValueId axis_first(NodeContext& context, ValueId x, int axis, bool reversed) {
  const int rank = context.builder().type(x).rank();
  if (axis > 0) {
    std::vector<std::int64_t> perm(static_cast<std::size_t>(rank));
    std::iota(perm.begin(), perm.end(), 0);
    std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
    x = context.add("transpose", {x}, {context.integer_list("perm", perm)});
  }
  if (!reversed) return x;
  return context.add("slice", {x},
                     {context.integer_list("axes", std::vector<std::int64_t>{0}),
                      context.integer_list("steps", std::vector<std::int64_t>{-1})});
}

/// The inverse.
ValueId axis_from_first(NodeContext& context, ValueId x, int axis, bool reversed) {
  x = axis_first(context, x, 0, reversed);
  if (axis == 0) return x;
  std::vector<std::int64_t> perm(static_cast<std::size_t>(context.builder().type(x).rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + axis + 1);
  return context.add("transpose", {x}, {context.integer_list("perm", perm)});
}

}  // namespace

OperandList Converter::convert_rolled(NodeContext& context, const GraphProto& body,
                                      const LoopOperands& given) {
  const RolledLoop::Convert convert = [&](GraphState& graph) {
    Converter inner(graph, functions_);
    return inner.convert_body(body, inner.constants_of(body), {});
  };
  return RolledLoop(state_, context, body, given, convert).convert();
}

void Converter::convert_loop(NodeContext& context) {
  const GraphProto& body = body_of(context);
  const TripCount trips = trip_count(context);
  std::optional<bool> goes_on = true;
  if (context.has(1)) goes_on = known_condition(*context.operand(1));
  OperandList carried;
  for (std::size_t i = 2; i < context.inputs(); ++i) carried.push_back(context.operand(i));
  const Choice choice(context, body, goes_on ? trips.known() : std::nullopt);
  if (choice.unrolls()) return unroll_loop(context, body, *trips.known(), *goes_on, carried);
  try {
    LoopOperands given;
    given.steps = trips.size       ? value_of_size(context, *trips.size)
                  : context.has(0) ? scalar_of(context, 0)
                                   : context.builder().integer(DType::i64, no_limit);
    given.condition =
        context.has(1) ? scalar_of(context, 1) : context.builder().integer(DType::boolean, 1);
    given.most = context.has(0) ? trips.size : std::optional(context.dims().constant(no_limit));
    given.begins = goes_on == true;
    given.carried = carried;
    given.is_counted = true;
    const OperandList results = convert_rolled(context, body, given);
    for (std::size_t i = 0; i < results.size(); ++i) context.give(results[i], i);
  } catch (const Error&) {
    if (!choice.can_unroll()) throw;
    unroll_loop(context, body, *trips.known(), *goes_on, carried);
  }
}

void Converter::unroll_loop(NodeContext& context, const GraphProto& body, std::int64_t most,
                            bool begins, OperandList carried) {
  std::optional<bool> goes_on = begins;
  const Operands own = constants_of(body);
  const Unrolling unrolling(state_);
  std::vector<OperandList> collected;
  for (std::int64_t step = 0; step < most; ++step) {
    if (!goes_on) context.decide_by_data();
    if (!*goes_on) break;
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

Converter::ScanPorts Converter::scan_ports(NodeContext& context, const GraphProto& body) {
  const auto scanned = static_cast<std::size_t>(context.integer("num_scan_inputs", 0));
  if (scanned < 1 || scanned > context.inputs())
    context.fail(fmt::format("num_scan_inputs is {}, of {} inputs", scanned, context.inputs()));
  ScanPorts ports;
  ports.states = context.inputs() - scanned;
  const auto list = [&](const char* name, std::size_t size) {
    std::vector<std::int64_t> values =
        context.integers(name).value_or(std::vector<std::int64_t>(size, 0));
    if (values.size() != size)
      context.fail(fmt::format("{} has {} elements, not {}", name, values.size(), size));
    return values;
  };
  if (static_cast<std::size_t>(body.output_size()) < ports.states)
    context.fail(
        fmt::format("its body has {} outputs for {} states", body.output_size(), ports.states));
  const std::size_t collects = static_cast<std::size_t>(body.output_size()) - ports.states;
  const auto axes = list("scan_input_axes", scanned);
  for (std::size_t i = 0; i < scanned; ++i) {
    const graph::TensorType type = context.type(ports.states + i);
    const int axis = context.axis(axes[i], type.rank());
    ports.axes.push_back(axis);
    const Dim length = type.dims[static_cast<std::size_t>(axis)];
    if (ports.steps.valid() && prove_equal(ports.steps, length) == false)
      context.fail(fmt::format("its inputs have {} and {} steps", graph::to_string(ports.steps),
                               graph::to_string(length)));
    ports.steps = i == 0 ? length : ports.steps;
  }
  ports.directions = list("scan_input_directions", scanned);
  ports.output_axes = list("scan_output_axes", collects);
  ports.output_directions = list("scan_output_directions", collects);
  return ports;
}

void Converter::convert_scan(NodeContext& context) {
  const GraphProto& body = body_of(context);
  if (scans_samples(context)) {
    const OperandList results = convert_branch(graph_of_samples(context, body));
    for (std::size_t i = 0; i < std::min(results.size(), context.outputs()); ++i)
      context.give(results[i], i);
    return;
  }
  const ScanPorts ports = scan_ports(context, body);
  const Choice choice(context, body, ports.steps.constant());
  if (choice.unrolls()) return unroll_scan(context, body, ports, *ports.steps.constant());
  try {
    LoopOperands given;
    given.most = ports.steps;
    given.begins = true;
    given.steps = value_of_size(context, ports.steps);
    given.condition = context.builder().integer(DType::boolean, 1);
    for (std::size_t i = 0; i < ports.states; ++i) given.carried.push_back(context.operand(i));
    for (std::size_t i = 0; i < ports.axes.size(); ++i)
      given.scanned.push_back(axis_first(context, context.value(ports.states + i), ports.axes[i],
                                         ports.directions[i] != 0));
    const OperandList results = convert_rolled(context, body, given);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (i < ports.states) {
        context.give(results[i], i);
        continue;
      }
      const std::size_t place = i - ports.states;
      const ValueId stack = context.value_of(*results[i]);
      const int rank = context.builder().type(stack).rank(),
                axis = context.axis(ports.output_axes[place], rank);
      if (context.wants(i))
        context.give(axis_from_first(context, stack, axis, ports.output_directions[place] != 0), i);
    }
  } catch (const Error&) {
    if (!choice.can_unroll()) throw;
    unroll_scan(context, body, ports, *ports.steps.constant());
  }
}

void Converter::unroll_scan(NodeContext& context, const GraphProto& body, const ScanPorts& ports,
                            std::int64_t steps) {
  OperandList carried;
  for (std::size_t i = 0; i < ports.states; ++i) carried.push_back(context.operand(i));
  const Operands own = constants_of(body);
  const Unrolling unrolling(state_);
  std::vector<OperandList> collected(ports.output_axes.size());
  for (std::int64_t step = 0; step < steps; ++step) {
    count_step(context, body, state_);
    OperandList values = carried;
    for (std::size_t i = 0; i < ports.axes.size(); ++i) {
      const TensorExpr x = input_expr(context, ports.states + i);
      const int axis = ports.axes[i];
      const Dim at = context.dims().constant(ports.directions[i] != 0 ? steps - 1 - step : step);
      Dims dims = x.dims();
      dims.erase(dims.begin() + axis);
      values.push_back(std::make_shared<Operand>(
          Operand{reshape(slice(x, axis, at, at + 1), dims).id(), nullptr, std::nullopt}));
    }
    OperandList results = convert_body(body, own, bound(context, body, values));
    const auto first = results.begin() + static_cast<std::ptrdiff_t>(ports.states);
    for (std::size_t i = 0; i < collected.size(); ++i)
      collected[i].push_back(first[static_cast<std::ptrdiff_t>(i)]);
    carried.assign(results.begin(), first);
  }
  for (std::size_t i = 0; i < ports.states; ++i) context.give(carried[i], i);
  for (std::size_t i = 0; i < collected.size(); ++i)
    if (context.wants(ports.states + i))
      context.give(
          stacked(context, collected[i], ports.output_axes[i], ports.output_directions[i] != 0),
          ports.states + i);
}

}  // namespace dyn::onnx
