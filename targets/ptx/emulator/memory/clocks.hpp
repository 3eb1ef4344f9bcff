#pragma once
// Happens-before within a block, by vector clocks (Flanagan and Freund, "FastTrack", PLDI 2009).
//
// One counter serves all agents, so that an epoch also tells its place among launches, blocks and
// barriers: what is older than the last barrier of the whole block is ordered before everything
// after it, without any vector.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace dyn::ptx::emulation {

using Epoch = std::uint32_t;
/// One entry for each agent.
using Clock = std::vector<Epoch>;

/// Agents are the threads of a block, and after them one for each thread's asynchronous copies.
class Clocks {
 public:
  /// `finely`: threads are ordered by other means than barriers of the whole block too. Returns
  /// false where the counter began anew, after which no earlier epoch may be seen.
  bool begin_launch(int threads, bool finely);
  void begin_block() { block_start_ = generation_start_ = ++counter_; }
  void block_barrier() { generation_start_ = ++counter_; }

  Epoch launch_start() const { return launch_start_; }
  Epoch block_start() const { return block_start_; }
  /// The last moment at which all threads of the block were at a barrier together.
  Epoch generation_start() const { return generation_start_; }

  bool orders_finely() const { return finely_; }

  int copies_of(int thread) const { return threads_ + thread; }
  int thread_of(int agent) const { return agent < threads_ ? agent : agent - threads_; }
  Epoch now(int agent) const {
    return std::max(own_[static_cast<std::size_t>(agent)], generation_start_);
  }
  Epoch advance(int agent) { return own_[static_cast<std::size_t>(agent)] = ++counter_; }
  /// True where a thread sees now what an agent of this block did in this epoch.
  bool ordered(int thread, int agent, Epoch epoch) const {
    return epoch < generation_start_ || agent == thread ||
           (finely_ && seen(thread, agent) >= epoch);
  }

  /// True where the thread sees all that was released into the clock.
  bool has_seen(int thread, const Clock& clock) const {
    for (int agent = 0; agent < 2 * threads_; ++agent) {
      if (!ordered(thread, agent, clock[static_cast<std::size_t>(agent)])) return false;
    }
    return true;
  }

  Clock make_clock() const { return Clock(2 * static_cast<std::size_t>(threads_), 0); }
  /// Releases into the clock all that the thread has done and seen so far; later actions are not
  /// included.
  void release(int thread, Clock& clock);
  void acquire(int thread, const Clock& clock);
  /// Each of the threads sees what all of them have done and seen.
  void join(std::span<const int> threads);

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

  int threads_ = 0;
  bool finely_ = false;
  Epoch counter_ = 0, launch_start_ = 0, block_start_ = 0, generation_start_ = 0;
  std::vector<Epoch> own_;   ///< by agent
  std::vector<Epoch> rows_;  ///< by thread and agent: what a thread has seen in this generation
  std::vector<Epoch> row_generation_;  ///< by thread: the generation that its row belongs to
  Clock joined_;
};

}  // namespace dyn::ptx::emulation
