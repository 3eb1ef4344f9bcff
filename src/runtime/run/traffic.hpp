#pragma once
// How many threads of this process are at work on runs, and for how many it has processors.

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dyn::runtime {

/// Callers come and go as they like; helpers come only where a processor is left for them, and
/// leave for callers. Thread-safe.
class Traffic {
 public:
  explicit Traffic(int processors) : processors_(processors) {}

  /// Somebody has asked for this many threads, wherever they run.
  void allow(int threads);

  /// A run on `threads` threads, its caller included, begins or ends.
  void begin_run(int threads) noexcept;
  void end_run(int threads) noexcept;

  /// Admits one helper more, where fewer are here or on their way than runs want (and than `most`),
  /// and no caller needs the processor now or has needed it a moment ago.
  bool admit(int most) noexcept;
  /// Sends one helper away where there are more threads than processors. True: it is the calling
  /// helper, which must leave.
  bool dismiss() noexcept;
  void leave() noexcept { helpers_.fetch_sub(1, std::memory_order_release); }

  /// Are there more threads than processors? Then one that waits should not spin.
  bool crowded() const noexcept { return excess(helpers_.load(std::memory_order_relaxed)) > 0; }
  int helpers() const noexcept { return helpers_.load(std::memory_order_acquire); }

 private:
  using Clock = std::chrono::steady_clock;

  /// What one run adds to runs_: a caller, and the helpers that it wants.
  static constexpr std::uint64_t one_run(int threads) {
    return (std::uint64_t{1} << 32) | static_cast<std::uint32_t>(threads - 1);
  }
  static constexpr int callers_of(std::uint64_t runs) { return static_cast<int>(runs >> 32); }
  static constexpr int wanted_of(std::uint64_t runs) {
    return static_cast<int>(static_cast<std::uint32_t>(runs));
  }

  int excess(int helpers) const noexcept {
    return callers_of(runs_.load(std::memory_order_relaxed)) + helpers -
           processors_.load(std::memory_order_relaxed);
  }
  bool crowded_lately() const noexcept;
  void note_crowd(int callers) noexcept;

  static constexpr int cache_line = 64;
  alignas(cache_line) std::atomic<std::uint64_t> runs_{0};  ///< the sum over all runs in flight
  std::atomic<Clock::rep> crowded_at_{0};  ///< when callers alone filled the processors last
  alignas(cache_line) std::atomic<int> helpers_{0};  ///< here or on their way
  std::atomic<int> processors_;
};

}  // namespace dyn::runtime
