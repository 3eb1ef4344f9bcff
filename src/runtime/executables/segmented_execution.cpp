#include "src/runtime/executables/segmented_execution.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/diagnostic.hpp"
#include "graph/ir/op.hpp"
#include "src/runtime/device/device_tensor.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/profile/profile_builder.hpp"
#include "src/runtime/system/errors.hpp"
#include "src/runtime/system/fp_state.hpp"
#include "src/runtime/weights/weight_source.hpp"
#include "targets/host/call.hpp"

namespace dyn::runtime {
namespace {

using graph::ValueId;

Tensor scalar(const graph::Value& value) {
  Tensor tensor(value.type.dtype, {});
  store_constant(value, tensor.raw());
  return tensor;
}

Shape evaluated(std::span<const graph::Dim> dims, std::span<const std::int64_t> symbols) {
  Shape shape;
  for (const graph::Dim dim : dims) shape.push_back(evaluate(dim, symbols));
  return shape;
}

std::string place_of(const graph::Node& node) {
  return fmt::format("{} (line {})", node.op->name, node.location.line);
}

const graph::Node& node_of(const SegmentedExecutable& executable, const SegmentStep& step) {
  return executable.module().nodes[static_cast<std::size_t>(step.segment.nodes.front())];
}

std::unique_ptr<LoopExecution> loop_of(const SegmentedExecutable& executable,
                                       const SegmentStep& step) {
  const graph::Node& node = node_of(executable, step);
  return std::make_unique<LoopExecution>(
      step.body, graph::loop_places(node),
      fmt::format("loop ({})", graph::place_of(executable.module(), node.location)),
      executable.info().options.max_loop_steps);
}

}  // namespace

SegmentedExecution::SegmentedExecution(const SegmentedExecutable& executable, CallPorts& ports)
    : executable_(executable), ports_(ports) {
  for (const SegmentStep& step : executable.steps()) {
    calls_.push_back(step.model ? std::make_unique<CallState>(step.model) : nullptr);
    loops_.push_back(step.body ? loop_of(executable, step) : nullptr);
  }
}

void SegmentedExecution::run(const RunRequest& request) {
  const DefaultFloatingPoint floating_point;
  builder_ = request.profile != nullptr ? request.profile->builder : nullptr;
  ports_.check_inputs();
  ports_.check_decided();
  ports_.check_bound_overlaps();
  const std::vector<Tensor> made =
      run_steps(request.symbols.empty()
                    ? executable_.binder().bind(ports_.input_shapes())
                    : std::vector<std::int64_t>(request.symbols.begin(), request.symbols.end()),
                request.control);
  for (std::size_t i = 0; i < made.size(); ++i) ports_.take_output(i, made[i]);
}

void SegmentedExecution::use_plan(PlanPtr) { executable_.plans(); }

Tensor SegmentedExecution::value(ValueId id) const {
  const graph::Value& value = executable_.module().value(id);
  if (value.kind == graph::ValueKind::Constant) return scalar(value);
  return values_.at(id);
}

/// The conditions are known: sides run after them.
bool SegmentedExecution::is_needed(const graph::Segment& segment) const {
  for (const graph::Side& side : segment.sides) {
    const Tensor condition =
        value(executable_.module().nodes[static_cast<std::size_t>(side.node)].inputs[0]);
    if ((*static_cast<const std::uint8_t*>(condition.raw()) != 0) != side.holds) return false;
  }
  return true;
}

std::vector<Tensor> SegmentedExecution::run_steps(std::vector<std::int64_t> symbols,
                                                  const RunControl* control) {
  const graph::Module& module = executable_.module();
  symbols_ = std::move(symbols);
  known_.assign(symbols_.size(), true);
  for (std::size_t s = 0; s < known_.size(); ++s)
    known_[s] = !module.dims->info(static_cast<int>(s)).defined;
  values_.clear();
  for (std::size_t i = 0; i < ports_.input_count(); ++i)
    values_[module.inputs[i]] = ports_.input(i);
  const std::span<const SegmentStep> steps = executable_.steps();
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const graph::Segment& segment = steps[step].segment;
    if (!is_needed(segment)) continue;
    if (calls_[step])
      run_model(step, control);
    else if (loops_[step])
      run_loop(step, control);
    else
      run_node(module.nodes[static_cast<std::size_t>(segment.nodes.front())], control);
    for (const ValueId id : steps[step].last) values_.erase(id);
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : module.outputs) outputs.push_back(value(id));
  values_.clear();
  return outputs;
}

void SegmentedExecution::run_model(std::size_t step, const RunControl* control) {
  const graph::Segment& segment = executable_.steps()[step].segment;
  CallState& call = *calls_[step];
  for (std::size_t i = 0; i < segment.inputs.size(); ++i)
    call.set_input(i, value(segment.inputs[i]));
  RunProfile part = builder_ != nullptr ? builder_->part() : RunProfile();
  call.run(RunRequest{
      .profile = builder_ != nullptr ? &part : nullptr, .symbols = symbols_, .control = control});
  for (std::size_t i = 0; i < segment.outputs.size(); ++i)
    values_[segment.outputs[i]] = call.output(i);
}

void SegmentedExecution::run_node(const graph::Node& node, const RunControl* control) {
  if (node.op->id == graph::OpId::If) return choose(node);
  check(control, [&] { return place_of(node); });
  if (builder_ == nullptr) return compute(node);
  builder_->on_host(place_of(node), std::string(node.op->name), [&] { compute(node); });
}

void SegmentedExecution::compute(const graph::Node& node) {
  const host::Operator& of_host = *host::find_operator(node.op->id);
  std::vector<Tensor> tensors;
  host::Call call{node, {}, {}, nullptr};
  for (const ValueId id : node.inputs) {
    tensors.push_back(value(id));
    call.inputs.push_back({tensors.back().dtype(), tensors.back().shape(), tensors.back().raw()});
  }
  host::Counted counted = host::count(of_host, call);
  if (counted.outcome != host::Outcome::Ok)
    user_error(fmt::format(
        "{}: its inputs give no size: a delta of 0, a negative size, or one beyond any memory",
        place_of(node)));
  define(node, counted.dims);
  call.kept = std::move(counted.kept);
  for (const ValueId id : node.outputs) {
    const graph::TensorType& type = executable_.module().value(id).type;
    const Tensor& made = values_[id] = new_tensor(type);
    call.outputs.push_back({made.dtype(), made.shape(), const_cast<void*>(made.raw())});
  }
  if (host::run(of_host, call) != host::Outcome::Ok)
    user_error(fmt::format("{}: an index is out of range", place_of(node)));
}

Tensor SegmentedExecution::new_tensor(const graph::TensorType& type) const {
  return new_host_tensor(executable_.info().options.allocator, type.dtype,
                         evaluated(type.dims, symbols_));
}

/// The other side has not run.
void SegmentedExecution::choose(const graph::Node& node) {
  const Tensor condition = value(node.inputs[0]);
  const Tensor chosen =
      value(node.inputs[*static_cast<const std::uint8_t*>(condition.raw()) != 0 ? 1 : 2]);
  std::vector<std::int64_t> sizes;
  const std::vector<graph::Dim>& dims = executable_.module().value(node.outputs[0]).type.dims;
  for (const int symbol : graph::defined_symbols(executable_.module(), node)) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].symbol() != symbol) continue;
      sizes.push_back(chosen.shape()[i]);
      break;
    }
  }
  define(node, sizes);
  values_[node.outputs[0]] = chosen;
}

/// Where there was no step, sizes that a step would have given are 0.
void SegmentedExecution::run_loop(std::size_t step, const RunControl* control) {
  const graph::Module& module = executable_.module();
  const graph::Node& node = node_of(executable_, executable_.steps()[step]);
  std::vector<Tensor> operands;
  for (const ValueId id : node.inputs) operands.push_back(value(id));
  LoopExecution::Results results = loops_[step]->run(operands, control, builder_);
  std::vector<Tensor> made = std::move(results.carried);
  made.insert(made.end(), results.collected.begin(), results.collected.end());
  std::vector<std::int64_t> sizes;
  for (const int symbol : graph::defined_symbols(module, node)) {
    std::int64_t& size =
        sizes.emplace_back(attr_dim(module, node, "steps").symbol() == symbol ? results.steps : 0);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::vector<graph::Dim>& dims = module.value(node.outputs[i]).type.dims;
      for (std::size_t axis = 0; axis < dims.size() && !made[i].empty(); ++axis)
        if (dims[axis].symbol() == symbol) size = made[i].shape()[axis];
    }
  }
  define(node, sizes);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const graph::TensorType& type = module.value(node.outputs[i]).type;
    if (made[i].empty()) made[i] = new_tensor(type);
    values_[node.outputs[i]] = std::move(made[i]);
  }
  check_sizes(node);
}

/// The dims that the model says may be others than those that the steps gave.
void SegmentedExecution::check_sizes(const graph::Node& node) const {
  for (const ValueId id : node.outputs) {
    const graph::Value& value = executable_.module().value(id);
    const Shape said = evaluated(value.type.dims, symbols_);
    const Shape& made = values_.at(id).shape();
    if (said != made)
      user_error(fmt::format("loop ({}): {} is {}, but its steps give {}, and not {}",
                             graph::place_of(executable_.module(), node.location), value.name,
                             to_string(value.type), to_string(made), to_string(said)));
  }
}

void SegmentedExecution::define(const graph::Node& node, std::span<const std::int64_t> values) {
  const std::vector<int> symbols = graph::defined_symbols(executable_.module(), node);
  if (symbols.size() != values.size())
    throw Error(ErrorKind::internal, fmt::format("{}: {} sizes for {} dims", place_of(node),
                                                 values.size(), symbols.size()));
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    symbols_[static_cast<std::size_t>(symbols[i])] = values[i];
    known_[static_cast<std::size_t>(symbols[i])] = true;
  }
  executable_.binder().check_defined(symbols, symbols_, known_);
}

}  // namespace dyn::runtime
