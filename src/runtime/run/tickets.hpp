#pragma once
// One parallel stage of a run at a time, handed out in chunks of tickets to its caller and to
// whoever helps.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "src/runtime/run/pieces.hpp"
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
  const Pieces* pieces = nullptr;  ///< nullptr: the run goes on to its end

  /// Some of its tickets, on the calling thread.
  void run_tickets(std::int64_t first, std::int64_t count, std::byte* own_scratch) const {
    if (pieces == nullptr)
      function(args, first, count, own_scratch);
    else
      pieces->run(*this, first, count, own_scratch);
  }
};

/// Every thread has a share of the chunks, the same from run to run: what it reads and writes is
/// still in its caches. Who has none left takes chunks of the next shares.
///
/// Every share is taken from its start, and the caller's is the first: before the caller takes a
/// chunk, all earlier ones are taken. So a ticket may wait for an earlier one.
///
/// The state of a share is one word: how many threads may take part in the stage, and which chunks
/// nobody has taken. A chunk belongs to the thread whose compare-and-swap took it, and only then
/// does that thread look at the stage, so one that comes late, or to a queue that another run has
/// by now, does no harm. The stage changes only while no chunk of any share is left.
///
/// A share has a cache line with a copy of the stage: it goes to its helper once for a stage, and
/// the caller's stays with the caller until somebody takes chunks of it.
class TicketQueue {
 public:
  /// `threads`: the most that work at once, the caller included; at least one.
  explicit TicketQueue(int threads) : shares_(static_cast<std::size_t>(threads)) {}

  /// The caller's part: returns when every ticket is done. Waits only for chunks that somebody
  /// took. False where nobody helped.
  bool run(const Stage& stage, int threads, const Traffic& traffic);

  /// A helper's part. `thread` counts from 1, is less than the queue's threads, and is unlike that
  /// of every other thread at this queue. Is there a chunk in its own share? Only reads.
  bool has_share(int thread) const noexcept {
    const std::uint64_t word =
        shares_[static_cast<std::size_t>(thread)].word.load(std::memory_order_relaxed);
    return left_of(word) != 0 && thread < threads_of(word);
  }
  /// Is there a chunk for it in any share? Reads lines that other threads write.
  bool has_work(int thread) const noexcept;
  /// Takes one chunk of the current stage and runs it; false where there is none.
  bool take(int thread);
  /// Tells the caller of chunks that were taken and are done. It waits for them.
  void report(std::uint32_t chunks) noexcept {
    helped_.fetch_add(chunks, std::memory_order_release);
  }

 private:
  static constexpr int cache_line = 64;
  struct alignas(cache_line) Share {
    std::atomic<std::uint64_t> word{0};
    Stage stage;
  };

  static constexpr int chunk_bits = 24;
  static constexpr std::uint64_t most_chunks = (std::uint64_t{1} << chunk_bits) - 1;
  /// The first chunk that is left has the lowest bits: taking it adds 1.
  static constexpr std::uint64_t make_word(int threads, std::uint64_t first, std::uint64_t last) {
    return static_cast<std::uint64_t>(threads) << (2 * chunk_bits) | last << chunk_bits | first;
  }
  static constexpr std::uint64_t first_of(std::uint64_t word) { return word & most_chunks; }
  static constexpr std::uint64_t last_of(std::uint64_t word) {
    return word >> chunk_bits & most_chunks;
  }
  static constexpr std::uint64_t left_of(std::uint64_t word) {
    return last_of(word) - first_of(word);
  }
  static constexpr int threads_of(std::uint64_t word) {
    return static_cast<int>(word >> (2 * chunk_bits));
  }

  static bool take_from(Share& share, int thread);
  static void work(const Stage& stage, int thread, std::uint64_t chunk);
  void wait_for(std::uint32_t helped, const Traffic& traffic) const;

  std::vector<Share> shares_;
  alignas(cache_line) std::atomic<std::uint32_t> helped_{
      0};  ///< chunks that helpers have ever finished here, modulo 2^32
  alignas(cache_line) std::uint32_t expected_ = 0;  ///< what helped_ will be; the caller's alone
};

}  // namespace dyn::runtime
