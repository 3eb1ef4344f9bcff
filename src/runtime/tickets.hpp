#pragma once
// One parallel stage of a run at a time, handed out in chunks of tickets to its caller and to whoever helps.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/rkernel/target.hpp"

namespace dyn::runtime {

/// What the threads of a stage share.
struct Stage {
  rkernel::KernelFunction function = nullptr;
  const rkernel::KernelArgs* args = nullptr;
  std::int64_t tickets = 0;
  std::int64_t grain = 1;        ///< tickets of one chunk
  std::byte* scratch = nullptr;  ///< participant p (0: the caller) owns scratch + p * scratch_stride
  std::size_t scratch_stride = 0;
};

/// The state of a stage is one word: how many threads may take part, and how many chunks nobody has taken. A chunk belongs to
/// the thread whose compare-and-swap took it, and only then does that thread look at the stage, so one that comes late, or
/// to the board of another run, does no harm. The stage's fields change only while no chunk is taken.
class TicketBoard {
 public:
  /// The caller's part: returns when every ticket is done. Waits only for chunks that somebody took.
  void run(const Stage& stage, int threads);

  /// A helper's part: takes chunks until none is left; false where there was none. `helper` counts from 0 and is unlike
  /// that of every other thread that helps now.
  bool help(int helper);

 private:
  /// Takes one chunk of the current stage and runs it as participant `participant`.
  bool take(int participant);
  void wait_for_helpers(std::uint32_t chunks) const;

  static constexpr int cache_line = 64;
  alignas(cache_line) std::atomic<std::uint64_t> word_{0};
  alignas(cache_line) std::atomic<std::uint32_t> helped_{0};  ///< chunks of this stage that helpers have finished
  alignas(cache_line) Stage stage_;
  std::uint32_t chunks_ = 0;
};

}  // namespace dyn::runtime
