#include "src/runtime/system/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "src/base/crew.hpp"
#include "src/runtime/system/first_error.hpp"
#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {
namespace {

using Body = std::function<void(std::int64_t, std::int64_t)>;

void parallel_for_on_lent_threads(std::int64_t count, std::int64_t grain, int threads,
                                  const Body& body) {
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  FirstError error;
  const auto take_parts = [&] {
    const DefaultFloatingPoint floating_point;
    try {
      for (std::int64_t first = next.fetch_add(grain); first < count; first = next.fetch_add(grain))
        body(first, std::min(first + grain, count));
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      error.attempt([] { throw; });
    }
  };
  {
    const std::int64_t parts = (count - 1) / grain + 1;
    const Crew others(static_cast<int>(std::min<std::int64_t>(threads, parts)) - 1,
                      [&](int) { take_parts(); });
    take_parts();
  }
  error.rethrow();
}

}  // namespace

int tbb_threads() {
  return static_cast<int>(
      tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

void parallel_for(std::int64_t count, std::int64_t grain, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  grain = std::max(grain, std::int64_t{1});
  if (count <= 0) return;
  const bool lent = LentThreads::current() != nullptr;
  if (!lent) threads = std::min(threads, tbb_threads());
  if (threads <= 1 || count <= grain) {
    body(0, count);
    return;
  }
  if (lent) return parallel_for_on_lent_threads(count, grain, threads, body);
  // oneTBB orders the parts after the call's start and before its end, but is not built for the
  // thread sanitizer; this tells it so.
  std::atomic<int> order{0};
  order.store(1, std::memory_order_release);
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, static_cast<std::size_t>(grain)),
                      [&](const tbb::blocked_range<std::int64_t>& range) {
                        order.load(std::memory_order_acquire);
                        const DefaultFloatingPoint floating_point;
                        body(range.begin(), range.end());
                        order.fetch_add(1, std::memory_order_release);
                      });
  });
  order.load(std::memory_order_acquire);
}

}  // namespace dyn::runtime
