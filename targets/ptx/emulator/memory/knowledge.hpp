#pragma once
// A thread's knowledge of other blocks of its launch.

#include <algorithm>
#include <map>
#include <vector>

#include "targets/ptx/emulator/memory/timeline.hpp"

namespace dyn::ptx::emulation {

/// One entry for each agent.
using Clock = std::vector<Epoch>;

inline void merge(Clock& into, const Clock& from) {
  into.resize(std::max(into.size(), from.size()), 0);
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

/// Seen of one block: everything before an epoch, and of each agent what it did up to its entry.
struct SeenOfBlock {
  Epoch before = 0;
  Clock clock;
  bool has(int agent, Epoch epoch) const {
    const auto entry = static_cast<std::size_t>(agent);
    return epoch < before || (entry < clock.size() && epoch <= clock[entry]);
  }
};

using Knowledge = std::map<int, SeenOfBlock>;  ///< by block

inline void merge(Knowledge& into, const Knowledge& from) {
  for (const auto& [block, seen] : from) {
    SeenOfBlock& own = into[block];
    own.before = std::max(own.before, seen.before);
    merge(own.clock, seen.clock);
  }
}

}  // namespace dyn::ptx::emulation
