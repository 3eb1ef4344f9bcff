#include "src/runtime/profile/profile_builder.hpp"

#include <algorithm>

#include "graph/ir/op.hpp"
#include "src/runtime/plan/candidates.hpp"

namespace dyn::runtime {
namespace {

std::string operators_of(const graph::Module& module, const graph::Group& group) {
  std::string names;
  for (const int node : group.nodes) {
    if (!names.empty()) names += ' ';
    names += module.nodes[static_cast<std::size_t>(node)].op->name;
  }
  return names;
}

Profile::Group described(const PlannedWork& work, const Plan& plan, std::size_t index) {
  const graph::Group& group = work.groups.fusion.groups[index];
  const rkernel::Kernel& kernel = *work.groups.kernels[index];
  const rkernel::Launch& launch = plan.launches[index];
  return {.name = group.name,
          .operators = operators_of(work.module, group),
          .kernel = kernel.describe(),
          .program =
              program_of(choices_of_run(kernel, {plan.symbols, work.threads}, work.policy), launch),
          .device = kernel.target_name(),
          .flops = launch.flops,
          .bytes = launch.bytes,
          .predicted_seconds = launch.predicted_seconds,
          .threads = launch.threads,
          .tickets = launch.tickets,
          .merge_tickets = launch.merge != nullptr ? launch.merge_tickets : 0};
}

std::size_t bytes_of(const graph::Module& module, const ArenaBuffer& buffer, const Plan& plan) {
  std::size_t bytes = size_of(buffer.dtype);
  for (const graph::Dim dim : module.value(buffer.value).type.dims)
    bytes *= static_cast<std::size_t>(graph::evaluate(dim, plan.symbols));
  return bytes;
}

}  // namespace

ProfileBuilder::ProfileBuilder(Profile& profile) : profile_(profile) {
  Profile empty;
  empty.label = std::move(profile.label);
  profile = std::move(empty);
  profile.start_ns = profile.end_ns = nanoseconds(Clock::now());
}

/// Event i of the plan is step i of its schedule, by which lifetimes count. A run that failed has
/// not come to all of them.
void ProfileBuilder::add_buffers(const PlannedWork& work, const Plan& plan) {
  const std::size_t first = profile_.events.size(), count = recorder_.steps().size();
  const auto add = [&](const ArenaBuffer& buffer, const Lifetime& lifetime, bool on_device,
                       std::size_t offset, std::size_t bytes) {
    const auto begin = static_cast<std::size_t>(lifetime.first);
    if (begin >= count) return;
    const std::size_t end = std::min(static_cast<std::size_t>(lifetime.last), count - 1);
    profile_.buffers.push_back({work.module.value(buffer.value).name, on_device, offset, bytes,
                                first + begin, first + end});
  };
  const Wiring& wiring = work.wiring;
  for (std::size_t i = 0; i < wiring.arena_buffers.size(); ++i)
    add(wiring.arena_buffers[i], wiring.layout.lifetime(i), false, plan.arena_offsets[i],
        bytes_of(work.module, wiring.arena_buffers[i], plan));
  for (std::size_t i = 0; i < wiring.device_buffers.size(); ++i)
    add(wiring.device_buffers[i], wiring.device_layout.lifetime(i), true, plan.device_offsets[i],
        plan.device_bytes[i]);
}

/// The index of the plan's first group in the profile; what a plan has is added once.
std::size_t ProfileBuilder::first_group_of(const PlannedWork& work, const PlanPtr& plan) {
  const auto known = std::ranges::find_if(plans_, [&](const KnownPlan& each) {
    return each.wiring == &work.wiring && each.plan == plan;
  });
  if (known != plans_.end()) return known->first_group;
  const std::size_t first = profile_.groups.size();
  for (std::size_t i = 0; i < plan->launches.size(); ++i)
    profile_.groups.push_back(described(work, *plan, i));
  add_buffers(work, *plan);
  profile_.arena_bytes += plan->arena_bytes;
  profile_.device_arena_bytes += plan->device_arena_bytes;
  profile_.scratch_bytes = std::max(profile_.scratch_bytes, plan->scratch_bytes);
  profile_.threads = std::max(profile_.threads, plan->threads);
  plans_.push_back({&work.wiring, plan, first});
  return first;
}

void ProfileBuilder::end_plan(const PlannedWork& work, const PlanPtr& plan) {
  profile_.end_ns = nanoseconds(Clock::now());  // what follows is no part of the run
  const std::size_t first_group = first_group_of(work, plan);
  const std::size_t first_event = profile_.events.size();
  for (const StepRecorder::Step& step : recorder_.steps())
    profile_.events.push_back({step.kind, first_group + step.group, step.start_ns, step.end_ns});
  for (Profile::Slice& slice : recorder_.slices()) {
    slice.event += first_event;
    profile_.slices.push_back(slice);
  }
}

void ProfileBuilder::add_host_event(const std::string& name, const std::string& operators,
                                    Clock::time_point start) {
  const Clock::time_point end = Clock::now();
  const auto is_it = [&](const Profile::Group& group) {
    return group.device == "host" && group.name == name;
  };
  const auto known = std::ranges::find_if(profile_.groups, is_it);
  const auto index = static_cast<std::size_t>(known - profile_.groups.begin());
  if (known == profile_.groups.end())
    profile_.groups.push_back({.name = name,
                               .operators = operators,
                               .kernel = {},
                               .program = {},
                               .device = "host",
                               .tickets = 1});
  profile_.threads = std::max(profile_.threads, 1);
  profile_.end_ns = nanoseconds(end);
  profile_.events.push_back({Profile::Kind::group, index, nanoseconds(start), nanoseconds(end)});
}

}  // namespace dyn::runtime
