#include "src/python/bindings/host/async_run.hpp"

#include <unistd.h>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "src/python/bindings/gil.hpp"
#include "src/python/bindings/host/control.hpp"

namespace dyn::python {
namespace {

/// A run that goes on. Made and destroyed by whoever holds the GIL.
struct Running {
  Running(std::shared_ptr<GraphState> own, nb::object its_future)
      : state(std::move(own)), coder(*state), future(std::move(its_future)) {}

  void succeed(const Outputs& outputs) {
    nb::dict results;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      results[to_python(state->ports.outputs[i].name)] =
          output_array(state->ports.outputs[i], outputs[i], coder);
    future.attr("set_result")(results);
  }

  void fail(const std::exception_ptr& failure) {
    try {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        if (state->failure != nullptr) state->failure->raise(error);
        raise_python(error);
        throw nb::python_error();
      } catch (const nb::python_error&) { throw; } catch (const std::exception& other) {
        raise_python(Error(ErrorKind::internal, other.what()));
        throw nb::python_error();
      }
    } catch (nb::python_error& error) { future.attr("set_exception")(error.value()); }
  }

  std::shared_ptr<GraphState> state;
  CoderLease coder;
  std::vector<std::unique_ptr<Loan>> loans;
  nb::object future;
};

/// Threads of dyn's own that have yet to leave Python, which must be there for them until then.
class OwnThreads {
 public:
  static OwnThreads& all() {
    static auto* const own = new OwnThreads;  // threads may outlive what the end of a process ends
    return *own;
  }
  void enter() {
    const std::lock_guard lock(mutex_);
    process_ = ::getpid();
    ++count_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) nobody_.notify_all();
  }
  /// A process that was forked has none of the threads of its parent.
  void wait() {
    if (process_ != ::getpid()) return;
    std::unique_lock lock(mutex_);
    nobody_.wait(lock, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable nobody_;
  int count_ = 0;
  std::atomic<pid_t> process_ = 0;  ///< that has them
};

/// Gives the run's end to Python, once, in whatever thread it comes.
class Ending {
 public:
  Ending(std::unique_ptr<Running> running, bool in_own_thread)
      : running_(std::move(running)), in_own_thread_(in_own_thread) {
    if (in_own_thread_) OwnThreads::all().enter();
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
  ~Ending() {
    if (running_ != nullptr)
      end(Outputs({}), std::make_exception_ptr(
                           Error(ErrorKind::cancelled, "the run was dropped before it had begun")));
    if (in_own_thread_) OwnThreads::all().leave();
  }

  void end(const Outputs& outputs, const std::exception_ptr& failure) {
    finish([&](Running& running) {
      if (failure != nullptr) return running.fail(failure);
      try {
        running.succeed(outputs);
      } catch (const Error&) { running.fail(std::current_exception()); } catch (nb::python_error&) {
        running.fail(std::current_exception());
      }
    });
  }

  /// Nothing has begun. For whoever holds the GIL.
  void forget() { running_.reset(); }

 private:
  template <class Work>
  void finish(const Work& work) {
    if (Py_IsInitialized() == 0) {
      static_cast<void>(running_.release());
      return;
    }
    const WithGil gil;
    const nb::error_scope own_error;
    const std::unique_ptr<Running> running = std::move(running_);
    try {
      work(*running);
    } catch (nb::python_error& error) { error.discard_as_unraisable("the end of a run"); }
  }

  std::unique_ptr<Running> running_;
  bool in_own_thread_;
};

}  // namespace

nb::object run_async(const GraphObject& graph, nb::handle inputs, nb::handle callback,
                     nb::handle timeout, nb::handle cancellation) {
  const std::shared_ptr<GraphState> state = graph.state();
  RunOptions options = to_run_options(timeout, cancellation);
  if (!options.cancellation) options.cancellation.emplace();
  auto running = std::make_unique<Running>(
      state, nb::module_::import_("dyn.run_future").attr("RunFuture")(*options.cancellation));
  const nb::object future = running->future;
  if (!callback.is_none()) {
    if (PyCallable_Check(callback.ptr()) == 0)
      user_error("the callback of a run is a function of its future, not " + described(callback));
    future.attr("add_done_callback")(callback);
  }
  NamedTensors tensors;
  each_array(inputs, "inputs", [&](const nb::object& key, const nb::object& array) {
    const PortInfo& port = state->ports.inputs[port_index(state->ports.inputs, key, "input")];
    Given own = input_tensor(port, array, Layout::copy, running->coder);
    tensors.emplace_back(port.name, std::move(own.tensor));
    if (own.loan != nullptr) running->loans.push_back(std::move(own.loan));
  });
  const auto ending = std::make_shared<Ending>(std::move(running), !state->has_executor);
  try {
    const WithoutGil no_gil;
    state->graph.run_async(std::move(tensors), std::move(options),
                           [ending](const Outputs& outputs, const std::exception_ptr& failure) {
                             ending->end(outputs, failure);
                           });
  } catch (...) {
    ending->forget();
    throw;
  }
  return future;
}

void wait_for_runs() {
  const WithoutGil no_gil;
  OwnThreads::all().wait();
}

}  // namespace dyn::python
