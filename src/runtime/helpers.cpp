#include "src/runtime/helpers.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <oneapi/tbb/task_arena.h>

#include "src/runtime/fp_state.hpp"
#include "src/runtime/parallel_for.hpp"
#include "src/runtime/spin.hpp"

namespace dyn::runtime {

/// Lives until the last helper has gone.
struct Helpers::Shared {
  Shared(int helpers, std::weak_ptr<Workplace> place)
      : count(helpers), workplace(std::move(place)), taken(static_cast<std::size_t>(helpers)) {}

  int take_id() {
    for (std::size_t id = 0;; id = (id + 1) % taken.size()) {
      if (!taken[id].exchange(true, std::memory_order_acquire)) return static_cast<int>(id);
    }
  }

  void help() {
    present.load(std::memory_order_acquire);  // what call() has released: oneTBB's own order is not visible to ThreadSanitizer
    const int id = take_id();
    if (const std::shared_ptr<Workplace> place = workplace.lock()) {
      const DefaultFloatingPoint floating_point;
      while (spin_until([&] { return place->help(id); })) {
      }
    }
    taken[static_cast<std::size_t>(id)].store(false, std::memory_order_release);
    present.fetch_sub(1, std::memory_order_release);
  }

  const int count;
  const std::weak_ptr<Workplace> workplace;
  std::vector<std::atomic<bool>> taken;  ///< by helper id; as many are free as helpers are missing
  std::atomic<int> present{0};           ///< in the queue or working
};

struct Helpers::Arena {
  explicit Arena(int count) : arena(count, /*reserved_for_masters=*/0) {}
  tbb::task_arena arena;
};

Helpers::Helpers(int count, std::weak_ptr<Workplace> workplace)
    : shared_(std::make_shared<Shared>(std::clamp(count, 0, tbb_threads() - 1), std::move(workplace))) {
  if (shared_->count > 0) arena_ = std::make_unique<Arena>(shared_->count);
}

Helpers::~Helpers() = default;

int Helpers::count() const noexcept { return shared_->count; }

void Helpers::call(int wanted) {
  wanted = std::min(wanted, shared_->count);
  int present = shared_->present.load(std::memory_order_acquire);
  while (present < wanted) {
    if (!shared_->present.compare_exchange_weak(present, present + 1, std::memory_order_acq_rel)) continue;
    try {
      arena_->arena.enqueue([shared = shared_] { shared->help(); });
    } catch (const std::exception&) {  // no memory for a task: the caller goes on alone
      shared_->present.fetch_sub(1, std::memory_order_release);
      return;
    }
    ++present;
  }
}

}  // namespace dyn::runtime
