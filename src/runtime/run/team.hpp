#pragma once
// The ticket board of one run at a time, with a seat for each helper.

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

/// What callers write stands apart from what helpers read while they look for work.
struct Board {
  explicit Board(int seats) : seats_taken(static_cast<std::size_t>(seats)) {}

  /// A free seat at the current stage, where that has work for it; -1: none.
  int sit() {
    for (std::size_t seat = 0; seat < seats_taken.size() && tickets.has_work(participant(seat));
         ++seat) {
      std::atomic<bool>& taken_seat = seats_taken[seat];
      if (!taken_seat.load(std::memory_order_relaxed) &&
          !taken_seat.exchange(true, std::memory_order_acquire))
        return static_cast<int>(seat);
    }
    return -1;
  }
  void stand(int seat) {
    seats_taken[static_cast<std::size_t>(seat)].store(false, std::memory_order_release);
  }
  /// For a run.
  bool try_take() {
    return !taken.load(std::memory_order_relaxed) &&
           !taken.exchange(true, std::memory_order_acquire);
  }

  template <class Seat>
  static int participant(Seat seat) {
    return static_cast<int>(seat) + 1;
  }

  TicketBoard tickets;
  Board* next = nullptr;  ///< in the list of all; set before this is published
  std::vector<std::atomic<bool>> seats_taken;
  alignas(64) std::atomic<int> processor{
      unknown_processor};                     ///< of the run's caller; helpers stay away from it
  alignas(64) std::atomic<bool> taken{true};  ///< by a run
  StageCounts counts;                         ///< the run's
};

}  // namespace dyn::runtime
