#include "src/runtime/device/launch_graphs.hpp"

#include <algorithm>

namespace dyn::runtime {
namespace {

constexpr std::size_t least_launches = 2;  ///< that a graph is worth

}  // namespace

void LaunchGraphs::find_sequences(const Wiring& wiring,
                                  std::span<const rkernel::DeviceLaunch> launches) {
  sequences_.clear();
  sequence_of_.assign(launches.size(), -1);
  bool follows = false;
  for (const Step& step : wiring.steps) {
    const bool on_device =
        step.kind == Step::Kind::Launch && wiring.spaces[step.index] == rkernel::Space::Device;
    if (on_device && launches[step.index].blocks <= 0) continue;  // nothing is queued
    if (on_device) {
      if (!follows) sequences_.push_back({step.index, {}});
      sequences_.back().launches.push_back(launches[step.index]);
      sequence_of_[step.index] = static_cast<int>(sequences_.size()) - 1;
    }
    follows = on_device;
  }
}

LaunchGraphs::Kept& LaunchGraphs::find(const Sequence& sequence) {
  const auto same = [&](const std::unique_ptr<Kept>& kept) {
    return std::ranges::equal(kept->functions, sequence.launches, {}, {},
                              &rkernel::DeviceLaunch::function);
  };
  const auto found = std::ranges::find_if(kept_, same);
  if (found != kept_.end()) return **found;
  Kept& made = *kept_.emplace_back(std::make_unique<Kept>());
  for (const rkernel::DeviceLaunch& launch : sequence.launches)
    made.functions.push_back(launch.function);
  return made;
}

void LaunchGraphs::bind(const Wiring& wiring, std::span<const rkernel::DeviceLaunch> launches) {
  find_sequences(wiring, launches);
  ++uses_;
  for (Sequence& sequence : sequences_) {
    if (sequence.launches.size() < least_launches) continue;
    sequence.kept = &find(sequence);
    sequence.kept->last_use = uses_;
    sequence.kept->refused = false;
  }
  drop_unused();
}

void LaunchGraphs::drop_unused() {
  while (kept_.size() > most_kept) {
    const auto oldest = std::ranges::min_element(
        kept_, {}, [](const std::unique_ptr<Kept>& kept) { return kept->last_use; });
    if ((*oldest)->last_use == uses_) return;
    kept_.erase(oldest);
  }
}

void LaunchGraphs::start(bool one_by_one) {
  one_by_one_ = one_by_one;
  for (Sequence& sequence : sequences_) sequence.replayed = false;
}

bool LaunchGraphs::launch(std::size_t group, rkernel::Stream& stream) {
  if (one_by_one_ || sequence_of_[group] < 0) return false;
  Sequence& sequence = sequences_[static_cast<std::size_t>(sequence_of_[group])];
  if (group == sequence.first_group) sequence.replayed = replay(sequence, stream);
  return sequence.replayed;
}

bool LaunchGraphs::replay(Sequence& sequence, rkernel::Stream& stream) {
  Kept* kept = sequence.kept;
  if (kept == nullptr || kept->refused || ++kept->runs < 2) return false;
  if (kept->graph == nullptr) kept->graph = device_.make_graph(sequence.launches);
  if (kept->graph != nullptr && stream.replay(*kept->graph, sequence.launches)) return true;
  kept->graph.reset();
  kept->refused = true;
  return false;
}

}  // namespace dyn::runtime
