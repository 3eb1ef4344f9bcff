// Graph::run_async: handles and callbacks, with dyn's threads and with executors that misbehave.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dyn/dyn.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/counting_loop.hpp"
#include "tests/unit/runtime/run/executors.hpp"

using namespace dyn;
using namespace std::chrono_literals;
using testing::check_error;
using testing::uncached;

namespace {

const char* const doubled = R"(dyn 1
dim N in 1..1048576
graph doubled(x: f32[N]) -> (y: f32[N]) {
  return x * 2.0
}
)";

NamedTensors for_long() { return testing::inputs_of_counting(testing::steps_without_end); }
NamedTensors one_number(float x) { return {{"x", Tensor::from<float>({x}, {1})}}; }
float result(const Outputs& outputs) { return outputs[0].data<float>()[0]; }

Graph graph_on(std::function<void(std::function<void()>)> takes, const char* text = doubled) {
  Options options = uncached(1);
  options.executor = std::make_shared<testing::OddExecutor>(std::move(takes));
  return Graph::from_text(text, options);
}

/// Keeps what a callback was given, once.
struct Heard {
  std::mutex mutex;
  std::condition_variable changed;
  int times = 0;
  std::optional<float> value;
  std::string error;

  auto callback() {
    return [this](const Outputs& outputs, const std::exception_ptr& failure) {
      const std::lock_guard lock(mutex);
      ++times;
      try {
        if (failure) std::rethrow_exception(failure);
        value = result(outputs);
      } catch (const Error& thrown) {
        error = std::string(name_of(thrown.kind())) + ": " + thrown.message();
      }
      changed.notify_all();
    };
  }
  void wait() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return times > 0; });
  }
};

}  // namespace

TEST_CASE("runs beside their caller: many at once, each with its outputs") {
  const Graph graph = Graph::from_text(doubled, uncached(2));
  std::vector<AsyncRun> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(graph.run_async(one_number(static_cast<float>(i))));
  for (int i = 0; i < 20; ++i) {
    AsyncRun& run = runs[static_cast<std::size_t>(i)];
    CHECK(result(run.get()) == 2 * static_cast<float>(i));
    CHECK(run.is_over());
    CHECK(run.wait_until(std::chrono::steady_clock::now()));
    check_error(ErrorKind::user, [&] { run.get(); }, "taken before");
  }
  AsyncRun moved = std::move(runs[0]);
  check_error(ErrorKind::user, [&] { runs[0].get(); }, "moved from");
  check_error(ErrorKind::user, [&] { runs[0].cancel(); }, "moved from");
}

TEST_CASE("get throws what its run has thrown") {
  const Graph graph = Graph::from_text(doubled, uncached(1));
  check_error(ErrorKind::user, [&] { graph.run_async({}).get(); }, "'x'");
  check_error(
      ErrorKind::cancelled,
      [&] {
        graph.run_async(one_number(1), {.deadline = std::chrono::steady_clock::now() - 1s}).get();
      },
      "deadline");
}

TEST_CASE(
    "a run is cancelled by its handle, by its options, by its deadline, and by the handle's end") {
  Options options = uncached(1);
  options.max_loop_steps = testing::steps_without_end;
  const Graph graph = Graph::from_text(testing::counting_loop, options);
  {
    AsyncRun run = graph.run_async(for_long());
    CHECK(!run.wait_until(std::chrono::steady_clock::now() + 2ms));
    run.cancel();
    check_error(ErrorKind::cancelled, [&] { run.get(); }, "was cancelled");
  }
  const Cancellation cancellation;
  AsyncRun by_options = graph.run_async(for_long(), {.cancellation = cancellation});
  AsyncRun by_deadline =
      graph.run_async(for_long(), {.deadline = std::chrono::steady_clock::now() + 2ms});
  check_error(ErrorKind::cancelled, [&] { by_deadline.get(); }, "deadline");
  CHECK(!by_options.is_over());
  cancellation.cancel();
  check_error(ErrorKind::cancelled, [&] { by_options.get(); }, "was cancelled");
  { const AsyncRun left = graph.run_async(for_long(), {.cancellation = Cancellation()}); }
  AsyncRun replaced = graph.run_async(for_long());
  replaced = graph.run_async(for_long(), {.deadline = std::chrono::steady_clock::now()});
  check_error(ErrorKind::cancelled, [&] { replaced.get(); }, "deadline");
}

TEST_CASE("an executor that only a run keeps ends in the thread of the run's handle") {
  for (int i = 0; i < 50; ++i) {
    Options options = uncached(1);
    options.executor = std::make_shared<testing::PoolExecutor>(1);  // cannot end in its own thread
    AsyncRun run = Graph::from_text(doubled, std::exchange(options, {})).run_async(one_number(4));
    if (i % 2 == 0) CHECK(result(run.get()) == 8);
  }
}

TEST_CASE("an executor that never runs a task keeps nobody waiting") {
  std::vector<std::function<void()>> kept;
  {
    const Graph graph =
        graph_on([&](std::function<void()> task) { kept.push_back(std::move(task)); });
    AsyncRun run = graph.run_async(one_number(4));
    CHECK(!run.wait_until(std::chrono::steady_clock::now() + 1ms));
    CHECK(!run.is_over());
    CHECK(result(run.get()) == 8);  // here
    AsyncRun late = graph.run_async(one_number(4), {.deadline = std::chrono::steady_clock::now()});
    check_error(ErrorKind::cancelled, [&] { late.get(); }, "deadline");
    const AsyncRun never = graph.run_async(one_number(4));
    never.cancel();
  }
  for (const auto& task : kept) task();  // everything is gone
}

TEST_CASE(
    "an executor that throws begins nothing, and one that runs tasks at once is good enough") {
  const Graph throwing =
      graph_on([](const std::function<void()>&) { throw std::runtime_error("full"); });
  Heard heard;
  CHECK_THROWS_AS(static_cast<void>(throwing.run_async(one_number(1))), std::runtime_error);
  CHECK_THROWS_AS(throwing.run_async(one_number(1), {}, heard.callback()), std::runtime_error);
  CHECK(heard.times == 0);
  const Graph direct = graph_on([](const std::function<void()>& task) { task(); });
  AsyncRun run = direct.run_async(one_number(3));
  CHECK(run.is_over());
  CHECK(result(run.get()) == 6);
  direct.run_async(one_number(5), {}, heard.callback());
  CHECK(heard.value == 10.0f);
}

TEST_CASE(
    "a callback is called once: with outputs, with what was thrown, or when the task is dropped") {
  const Graph graph = Graph::from_text(doubled, uncached(1));
  Heard good, bad, late, dropped, twice;
  graph.run_async(one_number(7), {}, good.callback());
  good.wait();
  CHECK(good.value == 14.0f);
  graph.run_async({}, {}, bad.callback());
  bad.wait();
  CHECK(bad.error.starts_with("user: "));
  graph.run_async(one_number(1), {.deadline = std::chrono::steady_clock::now()}, late.callback());
  late.wait();
  CHECK(late.error.starts_with("cancelled: the deadline"));
  graph_on([](const std::function<void()>&) {}).run_async(one_number(1), {}, dropped.callback());
  CHECK(dropped.times == 1);
  CHECK(dropped.error.starts_with("cancelled: the executor has dropped"));
  graph_on([](const std::function<void()>& task) {
    task(), task();
  }).run_async(one_number(1), {}, twice.callback());
  CHECK(twice.times == 1);
  check_error(ErrorKind::user, [&] { graph.run_async(one_number(1), {}, nullptr); }, "no function");
}

TEST_CASE("exceptions of a callback are dropped, with a warning") {
  std::vector<std::string> lines;
  Options options = uncached(1);
  options.executor =
      std::make_shared<testing::OddExecutor>([](const std::function<void()>& task) { task(); });
  options.log = [&](LogLevel level, std::string_view line) {
    if (level == LogLevel::warning) lines.emplace_back(line);
  };
  const Graph graph = Graph::from_text(doubled, options);
  lines.clear();
  graph.run_async(one_number(1), {}, [](const Outputs&, const std::exception_ptr&) {
    throw std::runtime_error("no");
  });
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("callback") != std::string::npos);
}
