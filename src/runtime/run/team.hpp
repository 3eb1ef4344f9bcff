#pragma once
// The threads that work on one run: its caller, and helpers that join and leave.

#include <atomic>
#include <cstdint>
#include <vector>

#include "src/runtime/run/tickets.hpp"
#include "src/runtime/system/processor.hpp"

namespace dyn::runtime {

/// Stages that were run on several threads, and those of them where no helper took part.
struct StageCounts {
  std::uint64_t stages = 0, alone = 0;
};

/// A run has one team at a time. Its caller is thread 0; a helper in slot s is thread s + 1. What
/// callers write stands apart from what helpers read while they look for work.
struct Team {
  explicit Team(int slots) : tickets(slots + 1), slots_taken(static_cast<std::size_t>(slots)) {}

  /// Takes a free slot whose thread has a share of the current stage, and returns its index; -1:
  /// there is none.
  int join() {
    for (std::size_t slot = 0; slot < slots_taken.size(); ++slot) {
      std::atomic<bool>& slot_taken = slots_taken[slot];
      if (tickets.has_share(thread_in(slot)) && !slot_taken.load(std::memory_order_relaxed) &&
          !slot_taken.exchange(true, std::memory_order_acquire))
        return static_cast<int>(slot);
    }
    return -1;
  }
  void leave(int slot) {
    slots_taken[static_cast<std::size_t>(slot)].store(false, std::memory_order_release);
  }
  /// A caller takes it for a run.
  bool try_take() {
    return !taken.load(std::memory_order_relaxed) &&
           !taken.exchange(true, std::memory_order_acquire);
  }

  /// The number of the thread in a slot.
  template <class Slot>
  static int thread_in(Slot slot) {
    return static_cast<int>(slot) + 1;
  }

  TicketQueue tickets;
  Team* next = nullptr;  ///< in the list of all; set before this is published
  std::vector<std::atomic<bool>> slots_taken;
  alignas(64) std::atomic<int> processor{
      unknown_processor};                     ///< of the run's caller; helpers stay away from it
  alignas(64) std::atomic<bool> taken{true};  ///< by a run
  StageCounts counts;                         ///< the run's
};

}  // namespace dyn::runtime
