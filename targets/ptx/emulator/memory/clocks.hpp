#pragma once
// Happens-before of one block, by vector clocks (Flanagan and Freund, "FastTrack", PLDI 2009), and
// between blocks, by fences around atomic operations (PTX ISA, "Memory Consistency Model").
//
// An epoch older than the last barrier of the whole block is ordered before everything after it,
// without any vector.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "targets/ptx/emulator/memory/knowledge.hpp"
#include "targets/ptx/emulator/memory/timeline.hpp"

namespace dyn::ptx::emulation {

/// How the threads of a kernel can be ordered, beside barriers of the whole block.
struct Orders {
  bool finely = false;          ///< some threads of a block among themselves
  bool between_blocks = false;  ///< threads of different blocks
};

/// Agents are the threads of a block, and after them one for each thread's asynchronous copies.
class Clocks {
 public:
  void begin_launch(Timeline& timeline, int threads, Orders orders);
  void begin_block(int block);
  void block_barrier();

  Epoch launch_start() const { return timeline_->launch_start(); }
  /// True for an epoch of this launch at which this block ran.
  bool is_own(Epoch epoch) const {
    return epoch >= timeline_->period_start() || timeline_->block_at(epoch) == block_;
  }
  int block_at(Epoch epoch) const { return timeline_->block_at(epoch); }
  /// The last moment at which all threads of the block were at a barrier together.
  Epoch generation_start() const { return generation_start_; }

  bool orders_finely() const { return orders_.finely; }

  int copies_of(int thread) const { return threads_ + thread; }
  int thread_of(int agent) const { return agent < threads_ ? agent : agent - threads_; }
  Epoch now(int agent) const {
    return std::max(own_[static_cast<std::size_t>(agent)], generation_start_);
  }
  Epoch advance(int agent) { return own_[static_cast<std::size_t>(agent)] = timeline_->tick(); }
  /// True where a thread sees now what an agent of this block did in this epoch.
  bool ordered(int thread, int agent, Epoch epoch) const {
    return epoch < generation_start_ || agent == thread ||
           (orders_.finely && seen(thread, agent) >= epoch);
  }
  /// The same for an agent of the block that ran at this epoch of the launch.
  bool sees(int thread, int agent, Epoch epoch) const {
    return is_own(epoch) ? ordered(thread, agent, epoch) : sees_other(thread, agent, epoch);
  }

  /// True where the thread sees all that was released into the clock.
  bool has_seen(int thread, const Clock& clock) const {
    for (int agent = 0; agent < 2 * threads_; ++agent) {
      if (!ordered(thread, agent, clock[static_cast<std::size_t>(agent)])) return false;
    }
    return true;
  }

  Clock make_clock() const { return Clock(2 * static_cast<std::size_t>(threads_), 0); }
  /// Releases into the clock all that the thread has done and seen of its block so far; later
  /// actions are not included.
  void release(int thread, Clock& clock);
  void acquire(int thread, const Clock& clock);
  /// Each of the threads sees what all of them have done and seen.
  void join(std::span<const int> threads);

  // Between blocks. What a thread has seen of other blocks goes on to others of its block by
  // barriers, named ones and bar.warp.sync, not by mbarriers.
  /// A fence: later atomic operations of the thread release all before it, and all that earlier
  /// ones of the thread have read is acquired.
  void fence(int thread);
  /// An atomic operation on a place, which keeps what has been released there.
  void exchange(int thread, Knowledge& place);

 private:
  std::span<Epoch> row(int thread) {
    const std::size_t width = 2 * static_cast<std::size_t>(threads_);
    return {rows_.data() + static_cast<std::size_t>(thread) * width, width};
  }
  bool has_row(int thread) const {
    return row_generation_[static_cast<std::size_t>(thread)] == generation_start_;
  }
  Epoch seen(int thread, int agent) const {
    return has_row(thread)
               ? rows_[static_cast<std::size_t>(thread) * 2 * static_cast<std::size_t>(threads_) +
                       static_cast<std::size_t>(agent)]
               : 0;
  }
  bool sees_other(int thread, int agent, Epoch epoch) const;

  /// A thread's knowledge of other blocks.
  struct Abroad {
    Knowledge seen;
    Knowledge released;  ///< at its last fence
    Knowledge read;      ///< by atomic operations since then
  };

  Timeline* timeline_ = nullptr;
  int threads_ = 0, block_ = 0;
  Orders orders_;
  Epoch generation_start_ = 0;
  std::vector<Epoch> own_;   ///< by agent
  std::vector<Epoch> rows_;  ///< by thread and agent: what a thread has seen in this generation
  std::vector<Epoch> row_generation_;  ///< by thread: the generation that its row belongs to
  Clock joined_;
  std::vector<Abroad> abroad_;  ///< by thread; empty where blocks are never ordered
};

}  // namespace dyn::ptx::emulation
