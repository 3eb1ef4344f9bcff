// The public handle of a run in another thread.

#include "dyn/async_run.hpp"

#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/load/model.hpp"
#include "src/runtime/run/run_named.hpp"
#include "src/runtime/system/errors.hpp"
#include "src/runtime/system/fp_state.hpp"

namespace dyn {

using runtime::Model;
using Done = std::function<void(Outputs, std::exception_ptr)>;

/// One run, which whoever comes first begins.
struct AsyncRun::State {
  State(std::shared_ptr<const Model> the_model, NamedTensors the_inputs, RunOptions the_options)
      : model(std::move(the_model)),
        inputs(std::move(the_inputs)),
        options(std::move(the_options)) {}

  /// Carries out the run, unless somebody else has begun it.
  void begin() {
    {
      const std::lock_guard lock(mutex);
      if (phase != Phase::Waiting) return;
      phase = Phase::Running;
    }
    const runtime::DefaultFloatingPoint floating_point;
    std::optional<Outputs> made;
    std::exception_ptr thrown;
    try {
      runtime::CallState call(model);
      made = runtime::run_named(*model, call, inputs, runtime::RunControl(options, &own));
    } catch (const std::bad_alloc&) {
      thrown = std::make_exception_ptr(Error(ErrorKind::device, "no memory for a run"));
    } catch (...) { thrown = std::current_exception(); }
    end(std::move(made), thrown);
  }

  void end(std::optional<Outputs> made, const std::exception_ptr& thrown) {
    inputs.clear();
    const std::lock_guard lock(mutex);
    outputs = std::move(made);
    failure = thrown;
    phase = Phase::Over;
    changed.notify_all();
  }

  /// Nobody wants the outputs: it never begins, or ends early.
  void abandon() {
    own.cancel();
    std::unique_lock lock(mutex);
    if (phase == Phase::Waiting) {
      phase = Phase::Over;
      lock.unlock();
      end(std::nullopt, nullptr);
      return;
    }
    changed.wait(lock, [&] { return phase == Phase::Over; });
  }

  std::shared_ptr<const Model> model;
  NamedTensors inputs;
  const RunOptions options;
  const Cancellation own;

  enum class Phase { Waiting, Running, Over };
  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  Phase phase = Phase::Waiting;
  bool taken = false;
  std::optional<Outputs> outputs;
  std::exception_ptr failure;
};

namespace {

/// Threads of runs that have no executor. The end of the process waits for them.
class OwnThreads {
 public:
  static OwnThreads& instance() {
    static OwnThreads threads;
    return threads;
  }
  ~OwnThreads() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return running_ == 0; });
  }

  void start(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    try {
      std::thread([this, task = std::move(task)]() mutable {
        task();
        task = nullptr;
        const std::lock_guard at_end(mutex_);
        --running_;
        ended_.notify_all();
      }).detach();
    } catch (const std::system_error& error) {
      throw Error(ErrorKind::device,
                  fmt::format("the system has no thread for a run: {}", error.what()));
    }
    ++running_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
};

void send(const Model& model, std::function<void()> task) {
  if (model.options().executor)
    model.options().executor->submit(std::move(task));
  else
    OwnThreads::instance().start(std::move(task));
}

/// Calls `done` once: with what the run came to, or when its last task is gone and never ran.
struct CallingBack {
  CallingBack(std::shared_ptr<AsyncRun::State> the_state, Done the_done)
      : state(std::move(the_state)), done(std::move(the_done)), log(state->model->options().log) {}
  ~CallingBack() {
    if (!is_wanted) return;
    state->abandon();
    call(std::nullopt, std::make_exception_ptr(Error(
                           ErrorKind::cancelled, "the executor has dropped the task of this run")));
  }
  void run() {
    {
      const std::lock_guard lock(state->mutex);
      if (!std::exchange(is_wanted, false)) return;
    }
    state->begin();
    call(std::move(state->outputs), state->failure);
  }
  void call(std::optional<Outputs> outputs, std::exception_ptr failure) const noexcept {
    try {
      done(outputs ? std::move(*outputs) : Outputs({}), std::move(failure));
    } catch (...) { warn(); }
  }
  void warn() const noexcept {
    try {
      if (log) log(LogLevel::warning, "the callback of an asynchronous run has thrown");
    } catch (...) {}
  }

  const std::shared_ptr<AsyncRun::State> state;
  const Done done;
  const std::function<void(LogLevel, std::string_view)> log;
  bool is_wanted = true;
};

}  // namespace

AsyncRun Graph::run_async(NamedTensors inputs, RunOptions options) const {
  const std::shared_ptr<const Model>& model = this->model();
  auto state = std::make_shared<AsyncRun::State>(model, std::move(inputs), std::move(options));
  send(*model, [state] { state->begin(); });
  return AsyncRun(std::move(state));
}

void Graph::run_async(NamedTensors inputs, RunOptions options, Done done) const {
  const std::shared_ptr<const Model>& model = this->model();
  if (!done) runtime::user_error("run_async is given no function to call");
  auto state = std::make_shared<AsyncRun::State>(model, std::move(inputs), std::move(options));
  const auto calling = std::make_shared<CallingBack>(std::move(state), std::move(done));
  try {
    send(*model, [calling] { calling->run(); });
  } catch (...) {
    const std::lock_guard lock(calling->state->mutex);
    calling->is_wanted = false;
    throw;
  }
}

AsyncRun::AsyncRun(std::shared_ptr<State> state) : state_(std::move(state)) {}
AsyncRun::AsyncRun(AsyncRun&&) noexcept = default;
AsyncRun& AsyncRun::operator=(AsyncRun&& other) noexcept {
  if (this == &other) return *this;
  leave();
  state_ = std::move(other.state_);
  return *this;
}
AsyncRun::~AsyncRun() { leave(); }

/// The task may live on. It must not be what keeps the model: that may be the last to keep the
/// executor, which cannot end in a thread of its own.
void AsyncRun::leave() noexcept {
  if (!state_) return;
  state_->abandon();
  state_->model.reset();
  state_.reset();
}

AsyncRun::State& AsyncRun::state() const {
  if (!state_) runtime::user_error("this AsyncRun has no run: it was moved from");
  return *state_;
}

Outputs AsyncRun::get() {
  State& state = this->state();
  state.begin();
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.phase == State::Phase::Over; });
  if (std::exchange(state.taken, true))
    runtime::user_error("the outputs of this run were taken before");
  if (state.failure) std::rethrow_exception(state.failure);
  return std::move(*state.outputs);
}

bool AsyncRun::is_over() const {
  const State& state = this->state();
  const std::lock_guard lock(state.mutex);
  return state.phase == State::Phase::Over;
}

bool AsyncRun::wait_until(std::chrono::steady_clock::time_point time) const {
  const State& state = this->state();
  std::unique_lock lock(state.mutex);
  return state.changed.wait_until(lock, time, [&] { return state.phase == State::Phase::Over; });
}

void AsyncRun::cancel() const { state().own.cancel(); }

}  // namespace dyn
