#include "src/runtime/run/traffic.hpp"

#include <algorithm>

namespace dyn::runtime {
namespace {

/// Callers leave gaps between their runs. A helper that is called for such a gap comes when the gap
/// is over.
constexpr std::chrono::milliseconds memory_of_crowds{1};

}  // namespace

void Traffic::allow(int threads) {
  int known = processors_.load(std::memory_order_relaxed);
  while (known < threads &&
         !processors_.compare_exchange_weak(known, threads, std::memory_order_relaxed)) {}
}

void Traffic::note_crowd(int callers) noexcept {
  if (callers < processors_.load(std::memory_order_relaxed)) return;
  crowded_at_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
}

void Traffic::begin_run(int threads) noexcept {
  const std::uint64_t added = one_run(threads);
  note_crowd(callers_of(runs_.fetch_add(added, std::memory_order_relaxed) + added));
}

void Traffic::end_run(int threads) noexcept {
  note_crowd(callers_of(runs_.fetch_sub(one_run(threads), std::memory_order_relaxed)));
}

bool Traffic::crowded_lately() const noexcept {
  const Clock::rep at = crowded_at_.load(std::memory_order_relaxed);
  return at != 0 && Clock::now().time_since_epoch() < Clock::duration(at) + memory_of_crowds;
}

bool Traffic::admit(int most) noexcept {
  int present = helpers_.load(std::memory_order_acquire);
  while (present < std::min(most, wanted_of(runs_.load(std::memory_order_relaxed)))) {
    if (excess(present + 1) > 0 || crowded_lately()) return false;
    if (helpers_.compare_exchange_weak(present, present + 1, std::memory_order_acq_rel))
      return true;
  }
  return false;
}

bool Traffic::dismiss() noexcept {
  int present = helpers_.load(std::memory_order_relaxed);
  while (excess(present) > 0) {
    if (helpers_.compare_exchange_weak(present, present - 1, std::memory_order_acq_rel))
      return true;
  }
  return false;
}

}  // namespace dyn::runtime
