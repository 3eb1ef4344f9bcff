#include "src/runtime/plan/schedule.hpp"

namespace dyn::runtime {
namespace {

using rkernel::Space;

/// Where a buffer's newest version is while the schedule grows.
struct BufferState {
  bool on_host = false, on_device = false;
  int writer = no_group;
  bool arriving = false;  ///< on its way to the host

  bool& in(Space space) { return space == Space::Host ? on_host : on_device; }
};

constexpr Space other(Space space) { return space == Space::Host ? Space::Device : Space::Host; }

class Scheduler {
 public:
  Scheduler(std::span<const GroupUse> groups, const std::set<graph::ValueId>& inputs,
            const std::set<graph::ValueId>& outputs, const std::map<graph::ValueId, StateUse>& kept)
      : groups_(groups), kept_(kept) {
    for (const graph::ValueId input : inputs) states_[input].on_host = true;
    for (const auto& [value, use] : kept) {
      states_[value].on_host = use.on_host;
      states_[value].on_device = use.on_device;
    }
    for (std::size_t group = 0; group < groups.size(); ++group) {
      for (const GroupUse::Buffer& buffer : groups[group].buffers) {
        if (buffer.written && outputs.contains(buffer.value))
          last_writer_[buffer.value] = static_cast<int>(group);
      }
    }
  }

  Schedule run() && {
    for (std::size_t group = 0; group < groups_.size(); ++group)
      add(static_cast<int>(group), groups_[group]);
    for (const auto& [value, use] : kept_) {
      if (use.on_host && !states_[value].on_host) copy(value, Space::Host, no_group);
      if (use.on_device && !states_[value].on_device) copy(value, Space::Device, no_group);
    }
    return std::move(schedule_);
  }

 private:
  void add(int group, const GroupUse& use) {
    for (const GroupUse::Buffer& buffer : use.buffers) {
      BufferState& state = states_[buffer.value];
      if (!state.in(use.space) && state.in(other(use.space))) copy(buffer.value, use.space, group);
    }
    if (use.space == Space::Host) wait_for_arrivals(group, use);
    schedule_.steps.push_back({Step::Kind::Launch, static_cast<std::size_t>(group)});
    for (const GroupUse::Buffer& buffer : use.buffers) {
      if (!buffer.written) continue;
      BufferState& state = states_[buffer.value];
      state.in(use.space) = true;
      state.in(other(use.space)) = false;
      state.writer = group;
    }
    for (const GroupUse::Buffer& buffer : use.buffers) {
      const auto last = last_writer_.find(buffer.value);
      const bool finished = last != last_writer_.end() && last->second == group;
      if (finished && !states_[buffer.value].on_host) copy(buffer.value, Space::Host, no_group);
    }
  }

  void copy(graph::ValueId value, Space to, int reader) {
    BufferState& state = states_[value];
    schedule_.steps.push_back({Step::Kind::Copy, schedule_.transfers.size()});
    schedule_.transfers.push_back({value, to, state.writer, reader});
    state.in(to) = true;
    state.arriving = to == Space::Host;
  }

  void wait_for_arrivals(int group, const GroupUse& use) {
    bool arriving = false;
    for (const GroupUse::Buffer& buffer : use.buffers)
      arriving = arriving || states_[buffer.value].arriving;
    if (!arriving) return;
    schedule_.steps.push_back({Step::Kind::Wait, static_cast<std::size_t>(group)});
    for (auto& [value, state] : states_) state.arriving = false;
  }

  std::span<const GroupUse> groups_;
  const std::map<graph::ValueId, StateUse>& kept_;  ///< the states of a session
  std::map<graph::ValueId, BufferState> states_;
  std::map<graph::ValueId, int> last_writer_;  ///< of outputs
  Schedule schedule_;
};

}  // namespace

Schedule make_schedule(std::span<const GroupUse> groups, const std::set<graph::ValueId>& inputs,
                       const std::set<graph::ValueId>& outputs,
                       const std::map<graph::ValueId, StateUse>& states) {
  return Scheduler(groups, inputs, outputs, states).run();
}

}  // namespace dyn::runtime
