#include "src/runtime/executables/planned_executable.hpp"

#include <utility>

#include <fmt/format.h>

#include "src/runtime/executables/planned_execution.hpp"
#include "src/runtime/plan/oracle.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

PlannedExecutable::PlannedExecutable(ModelInfo info, graph::Module module,
                                     std::shared_ptr<rkernel::Target> target,
                                     const LoadRequest& request, const Dump& dump,
                                     LoadReport& report)
    : Executable(std::move(info)),
      target_(std::move(target)),
      compiled_(compile(std::move(module), *target_, ModelDump(dump, request.segment, request.body),
                        report)),
      device_(target_->device()),
      is_described_(device_ == nullptr && !compiled_.groups.in(rkernel::Space::Device).empty()),
      compiled_at_load_(target_->functions_compiled()),
      states_(graph::appended_states(compiled_.module)),
      binder_(request.segment == nullptr ? Binder(compiled_.module)
                                         : Binder::of_segment(compiled_.module)),
      weights_(load_weights(request, report)),
      wiring_(wire()),
      plans_(Planner(compiled_.module, wiring_, compiled_.groups.kernels, *target_,
                     this->info().threads),
             this->info().options.plan_cache_bytes, measurer_of(*this)),
      runs_(std::make_unique<RunPool>(this->info().threads, device_, request.device_budget,
                                      this->info().options.executor, this->info().memory_budget,
                                      this->info().options.allocator)) {}

ResidentWeights PlannedExecutable::load_weights(const LoadRequest& request,
                                                LoadReport& report) const {
  if (is_described_)
    return ResidentWeights::described(compiled_.module, compiled_.groups, *target_, report);
  return ResidentWeights::of_groups(compiled_.module, compiled_.groups, *target_, device_.get(),
                                    request, info(), report);
}

Wiring PlannedExecutable::wire() const {
  const CompiledGroups& groups = compiled_.groups;
  const auto host = [&](std::size_t problem, std::size_t operand) {
    return weights_.host().operand(groups.problems[problem], operand);
  };
  const auto device = [&](std::size_t problem, std::size_t operand) {
    return weights_.device().operand(groups.problems[problem].operands[operand]);
  };
  return {compiled_.module, groups.fusion, groups.problems, groups.spaces, {host, device}};
}

std::unique_ptr<Execution> PlannedExecutable::make_execution(CallPorts& ports,
                                                             SessionState* session) const {
  return std::make_unique<PlannedExecution>(*this, ports, session);
}

void PlannedExecutable::trim() const {
  runs_->release_idle();
  plans_.forget();
}

void PlannedExecutable::refuse_described() const {
  user_error(
      fmt::format("{} is only a description of a GPU: kernels for it can be planned and explained, "
                  "but not run here; take device 'emulator' to "
                  "execute them on the CPU, or name no GPU to run on this machine's own",
                  target_->name()));
}

std::vector<CopyInfo> PlannedExecutable::copies(const Plan& plan) const {
  const auto place = [&](int group) {
    const auto index = static_cast<std::size_t>(group);
    return fmt::format("'{}' on {}", wiring_.group_names[index],
                       compiled_.groups.kernels.at(index)->target_name());
  };
  std::vector<CopyInfo> copies;
  for (std::size_t i = 0; i < wiring_.transfers.size(); ++i) {
    const Transfer& transfer = wiring_.transfers[i];
    CopyInfo& copy = copies.emplace_back();
    copy.tensor = compiled_.module.value(transfer.value).name;
    copy.to_device = transfer.to == rkernel::Space::Device;
    if (transfer.reader != no_group)
      copy.before = wiring_.group_names[static_cast<std::size_t>(transfer.reader)];
    const bool is_state = compiled_.module.value(transfer.value).kind == graph::ValueKind::State;
    copy.reason = fmt::format(
        "{}; {}", transfer.writer == no_group ? "an input" : "written by " + place(transfer.writer),
        transfer.reader != no_group ? "needed by " + place(transfer.reader)
        : is_state                  ? "kept for the next run"
                                    : "an output");
    copy.bytes = copied_bytes(i, plan);
  }
  return copies;
}

std::size_t PlannedExecutable::copied_bytes(std::size_t transfer, const Plan& plan) const {
  const OperandSource& end = wiring_.device_ends[transfer];
  const auto index = static_cast<std::size_t>(end.index);
  return end.kind == OperandSource::Kind::DeviceState ? state_bytes(index, plan)
                                                      : plan.device_bytes[index];
}

/// Only the part of the state that a run changes.
std::size_t PlannedExecutable::state_bytes(std::size_t state, const Plan& plan) const {
  const graph::AppendedState& appended = states_[state];
  const graph::TensorType& type = compiled_.module.value(appended.state).type;
  std::size_t bytes = size_of(type.dtype);
  for (std::size_t axis = 0; axis < type.dims.size(); ++axis) {
    const bool grows = appended.at_length && axis == static_cast<std::size_t>(appended.axis);
    bytes *= static_cast<std::size_t>(
        graph::evaluate(grows ? compiled_.module.growth : type.dims[axis], plan.symbols));
  }
  return bytes;
}

}  // namespace dyn::runtime
