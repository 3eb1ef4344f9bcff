#include "src/runtime/plan/wiring.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/plan/in_place.hpp"

namespace dyn::runtime {
namespace {

using rkernel::Space;
using Kind = OperandSource::Kind;
using Sources = std::map<graph::ValueId, OperandSource>;

bool is_fixed(const graph::Module& module, graph::ValueId value) {
  const graph::ValueKind kind = module.value(value).kind;
  return kind == graph::ValueKind::Weight || kind == graph::ValueKind::Constant;
}

Sources port_sources(const graph::Module& module, const graph::Fusion& fusion) {
  Sources sources;
  for (std::size_t i = 0; i < module.inputs.size(); ++i)
    sources[module.inputs[i]] = {Kind::Input, static_cast<int>(i)};
  for (std::size_t i = 0; i < module.states.size(); ++i)
    sources[module.states[i]] = {Kind::State, static_cast<int>(i)};
  for (std::size_t i = 0; i < module.outputs.size(); ++i) {
    const graph::ValueId base = fusion.views.at(static_cast<std::size_t>(module.outputs[i])).base;
    const bool own = base != graph::no_value && module.value(base).kind == graph::ValueKind::Result;
    if (!own || !sources.emplace(base, OperandSource{Kind::Output, static_cast<int>(i)}).second) {
      throw Error(ErrorKind::internal,
                  fmt::format("output '{}' has no buffer of its own", module.output_names[i]));
    }
  }
  return sources;
}

std::vector<GroupUse> group_uses(const graph::Module& module,
                                 const std::vector<rkernel::Problem>& problems,
                                 std::span<const Space> spaces) {
  std::vector<GroupUse> uses;
  for (std::size_t group = 0; group < problems.size(); ++group) {
    GroupUse& use = uses.emplace_back();
    use.space = spaces[group];
    for (const rkernel::Operand& operand : problems[group].operands) {
      if (!is_fixed(module, operand.buffer))
        use.buffers.push_back({operand.buffer, operand.written});
    }
  }
  return uses;
}

/// A state that no group touches lies on the host.
std::map<graph::ValueId, StateUse> uses_of_states(const graph::Module& module,
                                                  std::span<const GroupUse> groups) {
  std::map<graph::ValueId, StateUse> uses;
  for (const graph::ValueId state : module.states) uses[state] = {false, false};
  for (const GroupUse& group : groups) {
    for (const GroupUse::Buffer& buffer : group.buffers) {
      const auto found = uses.find(buffer.value);
      if (found == uses.end()) continue;
      (group.space == Space::Host ? found->second.on_host : found->second.on_device) = true;
    }
  }
  for (auto& [state, use] : uses) use.on_host = use.on_host || !use.on_device;
  return uses;
}

/// The values of all ports, or of the ports of one kind.
std::set<graph::ValueId> values_of(const Sources& ports, std::optional<Kind> kind = {}) {
  std::set<graph::ValueId> values;
  for (const auto& [value, source] : ports) {
    if (!kind || source.kind == *kind) values.insert(value);
  }
  return values;
}

/// The element type of each buffer in memory: what operands say, which must agree.
std::map<graph::ValueId, DType> buffer_dtypes(const graph::Module& module,
                                              const std::vector<rkernel::Problem>& problems) {
  std::map<graph::ValueId, DType> dtypes;
  for (const rkernel::Problem& problem : problems) {
    for (const rkernel::Operand& operand : problem.operands) {
      if (is_fixed(module, operand.buffer)) continue;
      const auto [found, is_new] = dtypes.emplace(operand.buffer, operand.dtype);
      if (is_new || found->second == operand.dtype) continue;
      throw Error(ErrorKind::internal,
                  fmt::format("'{}' is {} for one group, but {} for '{}'",
                              module.value(operand.buffer).name, name_of(found->second),
                              name_of(operand.dtype), problem.name));
    }
  }
  return dtypes;
}

/// Gives buffers of one space their indices, and finds how long they live. `taken`: results that
/// take the memory of others.
class Arena {
 public:
  Arena(std::vector<ArenaBuffer>& buffers, const std::map<graph::ValueId, DType>& dtypes,
        std::map<graph::ValueId, graph::ValueId> taken = {})
      : buffers_(buffers), dtypes_(dtypes), taken_(std::move(taken)) {}

  int touch(graph::ValueId value, int step) {
    for (auto found = taken_.find(value); found != taken_.end(); found = taken_.find(value))
      value = found->second;
    const auto [found, is_new] = indices_.emplace(value, static_cast<int>(buffers_.size()));
    if (is_new) {
      buffers_.push_back({value, dtypes_.at(value)});
      lifetimes_.push_back({step, step});
    }
    lifetimes_[static_cast<std::size_t>(found->second)].last = step;
    return found->second;
  }
  ArenaLayout layout(std::size_t alignment) const { return ArenaLayout(lifetimes_, alignment); }

 private:
  std::vector<ArenaBuffer>& buffers_;
  const std::map<graph::ValueId, DType>& dtypes_;
  std::map<graph::ValueId, graph::ValueId> taken_;
  std::map<graph::ValueId, int> indices_;
  std::vector<Lifetime> lifetimes_;
};

/// Fills a wiring by a walk over its schedule.
class Wirer {
 public:
  Wirer(Wiring& wiring, const graph::Module& module, const std::vector<rkernel::Problem>& problems,
        const FixedMemory& fixed, const Sources& ports,
        const std::map<graph::ValueId, DType>& dtypes)
      : wiring_(wiring),
        module_(module),
        problems_(problems),
        fixed_(fixed),
        ports_(ports),
        host_(wiring.arena_buffers, dtypes,
              wiring.on_device ? std::map<graph::ValueId, graph::ValueId>{}
                               : results_in_place(module, problems, values_of(ports))),
        device_(wiring.device_buffers, dtypes) {}

  void run() {
    for (std::size_t step = 0; step < wiring_.steps.size(); ++step) {
      const Step& what = wiring_.steps[step];
      if (what.kind == Step::Kind::Launch) wire_group(what.index, static_cast<int>(step));
      if (what.kind == Step::Kind::Copy)
        wire_transfer(wiring_.transfers[what.index], static_cast<int>(step));
    }
    wiring_.first_operand.push_back(wiring_.operands.size());
    note_host_ports();
    wiring_.operands.insert(wiring_.operands.end(), transfer_ends_.begin(), transfer_ends_.end());
    wiring_.layout = host_.layout(arena_alignment);
    wiring_.device_layout = device_.layout(device_alignment);
  }

 private:
  OperandSource host_place(graph::ValueId value, int step) {
    const auto port = ports_.find(value);
    return port != ports_.end() ? port->second
                                : OperandSource{Kind::Arena, host_.touch(value, step)};
  }

  OperandSource fixed_place(std::size_t group, std::size_t operand) {
    if (wiring_.spaces[group] == Space::Host) return {Kind::Fixed, 0, fixed_.host(group, operand)};
    wiring_.device_fixed.push_back(fixed_.device(group, operand));
    return {Kind::DeviceFixed, static_cast<int>(wiring_.device_fixed.size()) - 1};
  }

  OperandSource device_place(graph::ValueId value, int step) {
    const auto port = ports_.find(value);
    return port != ports_.end() && port->second.kind == Kind::State
               ? OperandSource{Kind::DeviceState, port->second.index}
               : OperandSource{Kind::DeviceArena, device_.touch(value, step)};
  }

  void wire_group(std::size_t group, int step) {
    wiring_.first_operand.push_back(wiring_.operands.size());
    const std::vector<rkernel::Operand>& operands = problems_[group].operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const graph::ValueId value = operands[i].buffer;
      OperandSource source;
      if (is_fixed(module_, value))
        source = fixed_place(group, i);
      else if (wiring_.spaces[group] == Space::Host)
        source = host_place(value, step);
      else
        source = device_place(value, step);
      source.written = operands[i].written;
      wiring_.operands.push_back(source);
    }
  }

  /// Goes through the operands of groups: transfers follow.
  void note_host_ports() {
    wiring_.inputs_on_host.resize(module_.inputs.size());
    wiring_.outputs_on_host.resize(module_.outputs.size());
    for (const OperandSource& source : wiring_.operands) {
      const auto port = static_cast<std::size_t>(source.index);
      if (source.kind == Kind::Input) wiring_.inputs_on_host[port] = true;
      if (source.kind == Kind::Output) wiring_.outputs_on_host[port] = true;
    }
  }

  void wire_transfer(const Transfer& transfer, int step) {
    transfer_ends_.push_back(host_place(transfer.value, step));
    wiring_.device_ends.push_back(device_place(transfer.value, step));
  }

  Wiring& wiring_;
  const graph::Module& module_;
  const std::vector<rkernel::Problem>& problems_;
  const FixedMemory& fixed_;
  const Sources& ports_;
  Arena host_, device_;
  std::vector<OperandSource> transfer_ends_;
};

}  // namespace

Wiring::Wiring(const graph::Module& module, const graph::Fusion& fusion,
               const std::vector<rkernel::Problem>& problems, std::span<const Space> group_spaces,
               const FixedMemory& fixed)
    : spaces(group_spaces.begin(), group_spaces.end()) {
  const Sources ports = port_sources(module, fusion);
  const std::vector<GroupUse> uses = group_uses(module, problems, spaces);
  const std::map<graph::ValueId, StateUse> state_uses = uses_of_states(module, uses);
  for (const graph::ValueId state : module.states) states.push_back(state_uses.at(state));
  Schedule schedule = make_schedule(uses, values_of(ports, Kind::Input),
                                    values_of(ports, Kind::Output), state_uses);
  steps = std::move(schedule.steps);
  transfers = std::move(schedule.transfers);
  on_device = std::find(spaces.begin(), spaces.end(), Space::Device) != spaces.end();
  for (const rkernel::Problem& problem : problems) group_names.push_back(problem.name);
  Wirer(*this, module, problems, fixed, ports, buffer_dtypes(module, problems)).run();
}

}  // namespace dyn::runtime
