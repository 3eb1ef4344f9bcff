#include "src/base/crew.hpp"

#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dyn {
namespace {

thread_local Executor* lent_executor = nullptr;
thread_local Crew::Attendance* attendance = nullptr;

}  // namespace

LentThreads::LentThreads(Executor* executor) noexcept
    : before_(std::exchange(lent_executor, executor)) {}
LentThreads::~LentThreads() { lent_executor = before_; }
Executor* LentThreads::current() noexcept { return lent_executor; }

/// Lives until the last task has gone, which may be long after the crew.
struct Crew::State {
  State(int count, std::function<void(int)> the_work) : wanted(count), work(std::move(the_work)) {}

  const int wanted;
  const std::function<void(int)> work;  ///< not called once it is closed and nobody is here
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::jthread> own;
  std::mutex mutex;
  std::condition_variable changed;
  int asked = 0, come = 0, here = 0;
  bool closed = false;

  /// In a thread of the host's.
  void help(Executor& executor) {
    int number = 0;
    {
      const std::lock_guard lock(mutex);
      // The caller itself, in its call of submit(), would keep others waiting.
      if (closed || std::this_thread::get_id() == caller) return;
      number = ++come;
      ++here;
    }
    changed.notify_all();
    {
      const LentThreads lent(&executor);
      work(number);
    }
    // The state may be gone with the crew, but for this task's share, once the lock is released.
    const std::lock_guard lock(mutex);
    --here;
    changed.notify_all();
  }
};

Crew::Crew(int count, std::function<void(int)> work)
    : state_(std::make_shared<State>(count, std::move(work))) {
  Executor* const executor = LentThreads::current();
  if (executor == nullptr) {
    try {
      for (int number = 1; number <= count; ++number) {
        state_->own.emplace_back([state = state_.get(), number] { state->work(number); });
        state_->asked = state_->come = number;
      }
    } catch (const std::system_error&) {}  // those that there are do the work
    return;
  }
  try {
    for (int number = 1; number <= count; ++number) {
      executor->submit([state = state_, executor] { state->help(*executor); });
      const std::lock_guard lock(state_->mutex);
      state_->asked = number;
    }
  } catch (...) {}  // as above
}

int Crew::close(std::chrono::microseconds patience) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, patience, [&] { return state_->come == state_->asked; });
  state_->closed = true;
  if (attendance != nullptr && patience.count() > 0 && state_->come < state_->wanted)
    attendance->is_full_ = false;
  return state_->come;
}

Crew::Attendance::Attendance() noexcept : before_(std::exchange(attendance, this)) {}
Crew::Attendance::~Attendance() { attendance = before_; }

Crew::~Crew() {
  close();
  state_->own.clear();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->here == 0; });
}

}  // namespace dyn
