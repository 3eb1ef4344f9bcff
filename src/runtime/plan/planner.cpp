#include "src/runtime/plan/planner.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::runtime {
namespace {

const Wiring& no_wiring() {
  static const Wiring none;
  return none;
}

std::size_t footprint(const Plan& plan) {
  std::size_t bytes = sizeof(Plan) + plan.symbols.size() * sizeof(std::int64_t);
  bytes += (plan.arena_offsets.size() + plan.device_offsets.size() + plan.device_bytes.size()) *
               sizeof(std::size_t) +
           plan.device_functions.size() * sizeof(const void*);
  for (const Shape& shape : plan.output_shapes)
    bytes += sizeof(Shape) + shape.size() * sizeof(std::int64_t);
  for (const rkernel::Launch& launch : plan.launches)
    bytes += sizeof(launch) + launch.ints.size() * sizeof(std::int64_t) + launch.kept_bytes;
  return bytes;
}

}  // namespace

Planner::Planner(const graph::Module& module, const Wiring& wiring,
                 std::span<const std::unique_ptr<rkernel::Kernel>> kernels,
                 const rkernel::Target* target, int threads)
    : module_(module), wiring_(wiring), kernels_(kernels), target_(target), threads_(threads) {
  for (const graph::ValueId output : module.outputs)
    outputs_.push_back(sized(output, module.value(output).type.dtype));
  for (const ArenaBuffer& buffer : wiring.arena_buffers)
    buffers_.push_back(sized(buffer.value, buffer.dtype));
  for (const ArenaBuffer& buffer : wiring.device_buffers)
    device_buffers_.push_back(sized(buffer.value, buffer.dtype));
}

Planner::Planner(const graph::Module& module, const Wiring& wiring,
                 std::span<const std::unique_ptr<rkernel::Kernel>> kernels,
                 const rkernel::Target& target, int threads)
    : Planner(module, wiring, kernels, &target, threads) {}

Planner::Planner(const graph::Module& module) : Planner(module, no_wiring(), {}, nullptr, 1) {}

Planner::Sized Planner::sized(graph::ValueId value, DType dtype) {
  Sized result{value, dtype, {}};
  for (const graph::Dim dim : module_.value(value).type.dims)
    result.slots.push_back(program_.slot(dim));
  return result;
}

std::vector<std::int64_t> Planner::evaluate(std::span<const std::int64_t> symbols) const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(program_.size()));
  program_.run(symbols, values);
  return values;
}

std::vector<Shape> Planner::shapes_of_outputs(std::span<const std::int64_t> values) const {
  std::vector<Shape> shapes;
  for (const Sized& output : outputs_) {
    bytes_of(output, values);
    Shape& shape = shapes.emplace_back();
    for (const int slot : output.slots) shape.push_back(values[static_cast<std::size_t>(slot)]);
  }
  return shapes;
}

std::vector<Shape> Planner::output_shapes(std::span<const std::int64_t> symbols) const {
  return shapes_of_outputs(evaluate(symbols));
}

std::size_t Planner::bytes_of(const Sized& buffer, std::span<const std::int64_t> values) const {
  const graph::Value& value = module_.value(buffer.value);
  auto bytes = static_cast<std::int64_t>(size_of(buffer.dtype));
  bool overflow = false, zero = false;
  for (const int slot : buffer.slots) {
    const std::int64_t size = values[static_cast<std::size_t>(slot)];
    if (size < 0) {
      throw Error(ErrorKind::user, fmt::format("a size of '{}', {}, is {} for these inputs",
                                               value.name, to_string(value.type), size));
    }
    zero = zero || size == 0;
    overflow = __builtin_mul_overflow(bytes, size, &bytes) || overflow;
  }
  if (overflow && !zero) {
    throw Error(ErrorKind::user,
                fmt::format("'{}', {}, has more bytes than can be addressed for these inputs",
                            value.name, to_string(value.type)));
  }
  return zero ? 0 : static_cast<std::size_t>(bytes);
}

std::vector<std::size_t> Planner::bytes_of_all(std::span<const Sized> buffers,
                                               std::span<const std::int64_t> values) const {
  std::vector<std::size_t> bytes;
  bytes.reserve(buffers.size());
  for (const Sized& buffer : buffers) bytes.push_back(bytes_of(buffer, values));
  return bytes;
}

/// nullptr for groups on the host. Code that no plan before has used is made here.
std::vector<const void*> Planner::device_functions(const Plan& plan) const {
  std::vector<const void*> functions;
  for (std::size_t group = 0; group < kernels_.size(); ++group) {
    const bool on_device = kernels_[group]->space() == rkernel::Space::Device;
    functions.push_back(on_device ? plan.launches[group].grid.function : nullptr);
  }
  return target_->load(functions);
}

PlanPtr Planner::make(std::span<const std::int64_t> symbols) const {
  auto plan = std::make_shared<Plan>();
  plan->symbols.assign(symbols.begin(), symbols.end());
  const std::vector<std::int64_t> values = evaluate(symbols);
  plan->output_shapes = shapes_of_outputs(values);

  const std::vector<std::size_t> bytes = bytes_of_all(buffers_, values);
  plan->arena_offsets.resize(bytes.size());
  plan->arena_bytes = wiring_.layout.place(bytes, plan->arena_offsets);
  if (!device_buffers_.empty()) {
    plan->device_bytes = bytes_of_all(device_buffers_, values);
    plan->device_offsets.resize(device_buffers_.size());
    plan->device_arena_bytes =
        wiring_.device_layout.place(plan->device_bytes, plan->device_offsets);
  }

  plan->launches.reserve(kernels_.size());
  for (const auto& kernel : kernels_) {
    rkernel::Launch& launch = plan->launches.emplace_back(kernel->plan({symbols, threads_}));
    if (kernel->space() == rkernel::Space::Device) {
      plan->device_shared_bytes = std::max(plan->device_shared_bytes, launch.shared_bytes);
      continue;
    }
    launch.threads = std::clamp(launch.threads, 1, threads_);
    plan->threads = std::max(plan->threads, launch.threads);
    plan->scratch_bytes = std::max(plan->scratch_bytes, launch.scratch_bytes);
    plan->shared_bytes = std::max(plan->shared_bytes, launch.shared_bytes);
  }
  if (wiring_.on_device) plan->device_functions = device_functions(*plan);
  plan->footprint_bytes = footprint(*plan);
  return plan;
}

}  // namespace dyn::runtime
