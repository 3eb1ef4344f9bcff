#pragma once
// One parallel stage of a run at a time, handed out in chunks of tickets to its caller and to
// whoever helps.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/rkernel/target/target.hpp"
#include "src/runtime/run/traffic.hpp"

namespace dyn::runtime {

/// What the threads of a stage share.
struct Stage {
  rkernel::KernelFunction function = nullptr;
  const rkernel::KernelArgs* args = nullptr;
  std::int64_t tickets = 0;
  std::int64_t grain = 1;        ///< tickets of one chunk
  std::byte* scratch = nullptr;  ///< thread t (0: the caller) owns scratch + t * scratch_stride
  std::size_t scratch_stride = 0;
};

/// The state of a stage is one word: how many threads may take part, and how many chunks nobody has
/// taken. A chunk belongs to the thread whose compare-and-swap took it, and only then does that
/// thread look at the stage, so one that comes late, or to a queue that another run has by now,
/// does no harm. The stage's fields change only while no chunk is taken.
///
/// Word and stage share one cache line: it goes to a helper once for a stage, and comes back with
/// the last chunk.
class TicketQueue {
 public:
  /// The caller's part: returns when every ticket is done. Waits only for chunks that somebody
  /// took. False where nobody helped.
  bool run(const Stage& stage, int threads, const Traffic& traffic);

  /// A helper's part. `thread` counts from 1 and is unlike that of every other thread at this
  /// queue. Is there a chunk for it? Only reads.
  bool has_work(int thread) const noexcept {
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    return left_of(word) != 0 && thread < threads_of(word);
  }
  /// Takes one chunk of the current stage and runs it; false where there is none.
  bool take(int thread);
  /// Tells the caller of chunks that were taken and are done. It waits for them.
  void report(std::uint32_t chunks) noexcept {
    helped_.fetch_add(chunks, std::memory_order_release);
  }

 private:
  static constexpr int left_bits = 32;
  static constexpr std::uint64_t make_word(int threads, std::uint32_t left) {
    return (static_cast<std::uint64_t>(threads) << left_bits) | left;
  }
  static constexpr std::uint32_t left_of(std::uint64_t word) {
    return static_cast<std::uint32_t>(word);
  }
  static constexpr int threads_of(std::uint64_t word) {
    return static_cast<int>(word >> left_bits);
  }

  void work(int thread, std::uint32_t left) const;
  void wait_for(std::uint32_t helped, const Traffic& traffic) const;

  static constexpr int cache_line = 64;
  alignas(cache_line) std::atomic<std::uint64_t> word_{0};
  Stage stage_;
  std::uint32_t chunks_ = 0;
  alignas(cache_line) std::atomic<std::uint32_t> helped_{
      0};  ///< chunks that helpers have ever finished here, modulo 2^32
  alignas(cache_line) std::uint32_t expected_ = 0;  ///< what helped_ will be; the caller's alone
};

}  // namespace dyn::runtime
