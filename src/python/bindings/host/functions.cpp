#include "src/python/bindings/host/functions.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "src/python/bindings/host/shared_object.hpp"

namespace dyn::python {
namespace {

/// dyn._dyn._Task
class Task {
 public:
  explicit Task(std::function<void()> work) : work_(std::move(work)) {}
  /// The second time it does nothing.
  void run() {
    const std::function<void()> work = std::exchange(work_, nullptr);
    const WithoutGil no_gil;
    if (work) work();
  }

 private:
  std::function<void()> work_;
};

class PythonExecutor final : public Executor {
 public:
  PythonExecutor(nb::handle executor, int concurrency)
      : executor_(nb::borrow(executor)), concurrency_(concurrency) {}

  int concurrency() const override { return concurrency_; }

  void submit(std::function<void()> task) override {
    if (Py_IsInitialized() == 0) throw std::runtime_error("Python has come to its end");
    const WithGil gil;
    try {
      call_python(executor_.get().attr("submit"), nb::cast(Task(std::move(task))));
    } catch (nb::python_error& error) {
      throw Error(ErrorKind::device, "the executor's submit() says: " + words_of(error));
    }
  }

 private:
  SharedObject executor_;
  int concurrency_;
};

}  // namespace

std::function<void(LogLevel, std::string_view)> log_function(nb::object function) {
  const auto shared = std::make_shared<const SharedObject>(std::move(function));
  return [shared](LogLevel level, std::string_view line) {
    if (Py_IsInitialized() == 0) return;
    const WithGil gil;
    constexpr const char* names[] = {"debug", "info", "warning"};
    try {
      call_python(shared->get(), names[static_cast<std::size_t>(level)], to_python(line));
    } catch (nb::python_error& error) { error.discard_as_unraisable(shared->get()); }
  };
}

std::function<bool(const LoadProgress&)> progress_function(nb::object function) {
  const auto shared = std::make_shared<const SharedObject>(std::move(function));
  return [shared](const LoadProgress& progress) {
    if (Py_IsInitialized() == 0) return true;
    const WithGil gil;
    const nb::object answer =
        call_python(shared->get(), to_python(progress.stage), progress.done, progress.total);
    return !answer.is(Py_False);
  };
}

std::shared_ptr<Executor> make_executor(nb::handle executor) {
  nb::object count = nb::getattr(executor, "concurrency", nb::none());
  if (count.is_none()) count = nb::getattr(executor, "_max_workers", nb::none());
  const nb::object submit = nb::getattr(executor, "submit", nb::none());
  if (PyCallable_Check(submit.ptr()) == 0 || PyLong_Check(count.ptr()) == 0)
    user_error(
        "an executor has submit(function) and concurrency, an int, as a ThreadPoolExecutor "
        "does; " +
        described(executor) + " lacks " +
        (PyCallable_Check(submit.ptr()) == 0 ? "submit" : "concurrency"));
  int overflow = 0;
  const long threads = PyLong_AsLongAndOverflow(count.ptr(), &overflow);
  constexpr long most = 1023;
  if (overflow != 0 || threads < 0 || threads > most)
    user_error("an executor's concurrency is 0 to 1023, not " + text_of(count));
  return std::make_shared<PythonExecutor>(executor, static_cast<int>(threads));
}

void register_task(nb::module_& module) {
  nb::class_<Task>(module, "_Task", "A task for an executor.").def("__call__", &Task::run);
}

}  // namespace dyn::python
