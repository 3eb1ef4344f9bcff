#include "src/runtime/run/helpers.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <oneapi/tbb/task_arena.h>

#include "src/runtime/system/fp_state.hpp"
#include "src/runtime/system/parallel_for.hpp"
#include "src/runtime/system/spin.hpp"
#include "src/runtime/system/thread_count.hpp"

namespace dyn::runtime {

/// Lives until the last helper has gone.
struct Helpers::Shared {
  Shared(int helpers, int processors) : count(helpers), traffic(processors) {
    alive.fetch_add(1, std::memory_order_relaxed);
  }
  ~Shared() {
    for (Team* team = first.load(); team != nullptr;) delete std::exchange(team, team->next);
    alive.fetch_sub(1, std::memory_order_release);
  }

  Team* take_team(Team* preferred);
  void help();

  const int count;
  Traffic traffic;
  std::atomic<Team*> first{nullptr};  ///< a list that only grows
  std::atomic<bool> closing{false};
  static inline std::atomic<int> alive{0};
};

bool Helpers::all_have_gone() noexcept {
  return Shared::alive.load(std::memory_order_acquire) == 0;
}

/// One helper, from its arrival until it leaves. Keeps its slot where it found work last.
struct Helpers::Visit {
  explicit Visit(Shared& visited) : shared(visited) {}
  ~Visit() {
    move_to(nullptr, -1);
    if (!dismissed) shared.traffic.leave();
  }

  void stay() {
    constexpr int looks_per_check = 32;
    int looks = 0;
    while (!must_leave() &&
           spin_until([&] { return look() || (++looks % looks_per_check == 0 && must_leave()); })) {
    }
  }

  bool must_leave() {
    dismissed = dismissed || shared.traffic.dismiss();
    return dismissed || shared.closing.load(std::memory_order_relaxed);
  }

  /// Does what there is to do now; false where there was nothing.
  bool look() {
    if (team != nullptr && finds_work() && work()) return true;
    for (Team* other = shared.first.load(std::memory_order_acquire); other != nullptr;
         other = other->next) {
      const int free_slot = other->join();
      if (free_slot < 0) continue;
      move_to(other, free_slot);
      if (work()) return true;
    }
    return false;
  }

  /// Its own share has chunks, or now and then another's: those lines are other threads'.
  bool finds_work() {
    constexpr int looks_per_look_at_others = 64;
    const int thread = Team::thread_in(slot);
    return team->tickets.has_share(thread) ||
           (++looks_at_own % looks_per_look_at_others == 0 && team->tickets.has_work(thread));
  }

  bool work() {
    std::uint32_t chunks = 0;
    leave_processor(team->processor.load(std::memory_order_relaxed));
    while (!must_leave() && team->tickets.take(Team::thread_in(slot))) ++chunks;
    if (chunks > 0) team->tickets.report(chunks);
    return chunks > 0;
  }

  void move_to(Team* new_team, int new_slot) {
    if (team != nullptr) team->leave(slot);
    team = new_team;
    slot = new_slot;
  }

  Shared& shared;
  Team* team = nullptr;
  int slot = -1;
  int looks_at_own = 0;
  bool dismissed = false;
};

void Helpers::Shared::help() {
  traffic
      .helpers();  // what call() has released: oneTBB's own order is not visible to ThreadSanitizer
  const DefaultFloatingPoint floating_point;
  Visit(*this).stay();
}

Team* Helpers::Shared::take_team(Team* preferred) {
  if (preferred != nullptr && preferred->try_take()) return preferred;
  for (Team* team = first.load(std::memory_order_acquire); team != nullptr; team = team->next) {
    if (team->try_take()) return team;
  }
  auto* team = new Team(count);
  team->next = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(team->next, team, std::memory_order_release,
                                      std::memory_order_relaxed)) {}
  return team;
}

/// What a worker of oneTBB gets. A type with a name, for tests/thread_sanitizer.supp.
struct Helpers::Task {
  std::shared_ptr<Shared> shared;
  int caller_processor;

  void operator()() const {
    leave_processor(caller_processor);
    shared->help();
  }
};

/// A task of an executor's, which may run it late, never, twice, or in the call that submits it.
struct Helpers::LentTask {
  LentTask(std::shared_ptr<Shared> the_shared, int processor)
      : task{std::move(the_shared), processor} {}
  ~LentTask() {
    if (!begun) task.shared->traffic.leave();
  }
  void run() {
    if (std::this_thread::get_id() != caller && !begun.exchange(true)) task();
  }

  const Task task;
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> begun{false};
};

struct Helpers::Arena {
  explicit Arena(int count) : arena(count, /*reserved_for_masters=*/0) {}
  tbb::task_arena arena;
};

Helpers::Helpers(std::shared_ptr<Executor> executor, int count, int processors)
    : shared_(std::make_shared<Shared>(count, processors)), executor_(std::move(executor)) {
  if (executor_ == nullptr && shared_->count > 0) arena_ = std::make_unique<Arena>(shared_->count);
}

Helpers::~Helpers() { shared_->closing.store(true, std::memory_order_relaxed); }

std::shared_ptr<Helpers> Helpers::of(const std::shared_ptr<Executor>& executor, int threads) {
  static std::mutex mutex;
  static std::map<const Executor*, std::weak_ptr<Helpers>> sets;  // helpers keep their executor
  const std::lock_guard lock(mutex);
  std::erase_if(sets, [](const auto& set) { return set.second.expired(); });
  std::weak_ptr<Helpers>& known = sets[executor.get()];
  std::shared_ptr<Helpers> helpers = known.lock();
  if (helpers == nullptr) {
    const int count = executor == nullptr ? tbb_threads() - 1 : lent_threads(*executor);
    const int processors = executor == nullptr ? default_threads() : count + 1;
    known = helpers = std::shared_ptr<Helpers>(new Helpers(executor, count, processors));
  }
  helpers->shared_->traffic.allow(threads);
  return helpers;
}

bool Helpers::send_for_one() noexcept {
  const int here = current_processor();
  std::shared_ptr<LentTask> task;
  try {
    if (executor_ == nullptr)
      arena_->arena.enqueue(Task{shared_, here});
    else
      task = std::make_shared<LentTask>(shared_, here);
  } catch (const std::exception&) {  // no memory for a task
    shared_->traffic.leave();
    return false;
  }
  if (task == nullptr) return true;
  try {
    executor_->submit([task] { task->run(); });
    return true;
  } catch (...) { return false; }  // the last copy of the task leaves
}

/// A helper may be woken on the caller's own processor, where it would wait until the caller is
/// done: it gets a chance to go elsewhere.
void Helpers::call() {
  int called = 0;
  // An executor may be done with a task at once: no more are sent than there may be helpers.
  while (called < shared_->count && shared_->traffic.admit(shared_->count) && send_for_one())
    ++called;
  if (called > 0) std::this_thread::yield();
}

Helpers::InFlight::InFlight(Helpers& helpers, int threads, Team*& preferred)
    : helpers_(helpers), threads_(threads) {
  if (threads > 1) team_ = preferred = helpers.shared_->take_team(preferred);
  helpers.shared_->traffic.begin_run(threads);
  if (threads > 1) helpers.call();
}

Helpers::InFlight::~InFlight() {
  helpers_.shared_->traffic.end_run(threads_);
  if (team_ != nullptr) team_->taken.store(false, std::memory_order_release);
}

void Helpers::InFlight::run(const Stage& stage, int threads) {
  helpers_.call();
  const int processor = current_processor();
  if (team_->processor.load(std::memory_order_relaxed) != processor)
    team_->processor.store(processor, std::memory_order_relaxed);
  ++team_->counts.stages;
  if (!team_->tickets.run(stage, threads, helpers_.shared_->traffic)) ++team_->counts.alone;
}

StageCounts Helpers::counts() const {
  StageCounts sum;
  for (const Team* team = shared_->first.load(); team != nullptr; team = team->next) {
    sum.stages += team->counts.stages;
    sum.alone += team->counts.alone;
  }
  return sum;
}

int Helpers::present() const noexcept { return shared_->traffic.helpers(); }

int Helpers::teams() const noexcept {
  int count = 0;
  for (const Team* team = shared_->first.load(); team != nullptr; team = team->next) ++count;
  return count;
}

}  // namespace dyn::runtime
