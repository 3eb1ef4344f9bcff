// How much memory a graph needs, may hold, and gives back.

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/run_pool.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using testing::check_error;
using testing::uncached;

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

/// 2 MiB of weights; 4 KiB a row between its two layers, and 1 KiB of output.
const char* const wide_layers = R"(dyn 1
weight w0: f32[256, 1024] = random 1
weight w1: f32[1024, 256] = random 2
dim B in 1..1048576
graph wide_layers(x: f32[B, 256]) -> (y: f32[B, 256]) {
  h = gelu(matmul(x, w0))
  return softmax(matmul(h, w1)) axis=-1
}
)";

Graph graph_within(std::int64_t budget, int threads = 1) {
  Options options = uncached(threads);
  options.memory_budget = budget;
  return Graph::from_text(wide_layers, options);
}

std::vector<float> run_rows(const Graph& graph, std::int64_t rows) {
  const std::vector<float> x = testing::random_values(static_cast<std::size_t>(rows) * 256, 3);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {rows, 256})}});
  const auto data = outputs[0].data<float>();
  return {data.begin(), data.end()};
}

}  // namespace

TEST_CASE("a run's memory is known before it, and grows with the shape") {
  const Graph graph = graph_within(0);
  const MemoryNeeded needed = graph.memory_needed({{"x", {1000, 256}}});
  CHECK(needed.weights == graph.load_report().weight_bytes);
  CHECK(needed.weights >= 2 * MiB);
  CHECK(needed.outputs == 1000 * 1024);
  CHECK(needed.intermediates >= 1000 * 4096);
  CHECK(needed.intermediates < 1000 * 8000 + 8 * MiB);
  CHECK(needed.total() == needed.weights + needed.intermediates + needed.outputs);
  const MemoryNeeded twice = graph.memory_needed({{"x", {2000, 256}}});
  CHECK(twice.weights == needed.weights);
  CHECK(twice.intermediates > needed.intermediates);
  CHECK(graph.shapes_planned() == 2);
  check_error(ErrorKind::user, [&] { graph.memory_needed({}); }, "'x'");
  check_error(ErrorKind::user, [&] { graph.memory_needed({{"x", {1, 2}}}); }, "256");
}

TEST_CASE("a budget below the weights is an error of the load") {
  check_error(
      ErrorKind::device, [] { graph_within(100'000); }, "weights need 2", "100000",
      "Options::memory_budget");
  check_error(ErrorKind::user, [] { graph_within(-1); }, "Options::memory_budget is -1");
  for (const char* device : {"reference", "emulator"}) {
    Options options = uncached(1, device);
    options.memory_budget = -5;
    check_error(ErrorKind::user, [&] { Graph::from_text(wide_layers, options); }, "is -5");
  }
}

TEST_CASE("a run beyond the budget says what it needs, and smaller ones go on") {
  const Graph free = graph_within(0), graph = graph_within(16 * MiB);
  const MemoryNeeded needed = free.memory_needed({{"x", {4000, 256}}});
  check_error(
      ErrorKind::device, [&] { run_rows(graph, 4000); },
      "a run of this shape needs " + std::to_string(needed.total()) + " bytes (" +
          std::to_string(needed.weights) + " for weights, " + std::to_string(needed.intermediates) +
          " for intermediate tensors, " + std::to_string(needed.outputs) + " for outputs)",
      "may hold 16777216", "Options::memory_budget");
  CHECK(run_rows(graph, 1000) == run_rows(free, 1000));
  CHECK(graph.memory_needed({{"x", {4000, 256}}}).total() == needed.total());  // asked, not run
  // An output of the caller's is not the graph's.
  std::vector<float> x(2000 * 256), y(2000 * 256);
  const Graph tight = graph_within(static_cast<std::int64_t>(
      free.memory_needed({{"x", {2000, 256}}}).total() - 2000 * 1024 / 2));
  Call bound(tight);
  bound.set_input(0, Tensor::view(x, {2000, 256}));
  check_error(ErrorKind::device, [&] { bound.run(); }, "2048000 for outputs");
  bound.set_output(0, Tensor::view(y, {2000, 256}));
  bound.run();
}

TEST_CASE("runs that are over make room for others, and those in flight do not") {
  using namespace runtime;
  auto plan = std::make_shared<Plan>();
  plan->arena_bytes = 10 * MiB;
  const Wiring wiring;
  const auto budget = std::make_shared<MemoryBudget>(16 * MiB);
  {
    RunPool pool(1, nullptr, nullptr, nullptr, budget);
    Run *const first = pool.take(nullptr), *const second = pool.take(nullptr);
    pool.bind(*first, plan, wiring);
    check_error(
        ErrorKind::device, [&] { pool.bind(*second, plan, wiring); },
        "needs 10485760 bytes more for intermediate tensors", "0 of weights",
        "10485760 of other runs in flight", "may hold 16777216");
    pool.give_back(first);
    pool.bind(*second, plan, wiring);
    CHECK(pool.bytes() < 13 * MiB);
    pool.give_back(second);
    const MemoryBudget::Weights weights(budget, 4 * MiB);
    check_error(
        ErrorKind::device, [&] { MemoryBudget::Weights(budget, 13 * MiB); },
        "weights need 17825792 bytes");
  }
  CHECK(budget->change(0, 16 * MiB));  // all was given back
}

TEST_CASE("a run that holds much of one kind of memory gives it back for another kind") {
  using namespace runtime;
  auto with_arena = std::make_shared<Plan>(), with_partial_sums = std::make_shared<Plan>();
  with_arena->arena_bytes = with_partial_sums->shared_bytes = 10 * MiB;
  const Wiring wiring;
  RunPool pool(1, nullptr, nullptr, nullptr, std::make_shared<MemoryBudget>(16 * MiB));
  Run* const run = pool.take(nullptr);
  for (const auto& plan : {with_arena, with_partial_sums, with_arena}) {
    pool.bind(*run, plan, wiring);
    CHECK(pool.bytes() < 13 * MiB);
  }
  pool.give_back(run);
}

TEST_CASE("parts of a graph give back what they keep where another has no room") {
  using namespace runtime;
  auto plan = std::make_shared<Plan>();
  plan->arena_bytes = 10 * MiB;
  const Wiring wiring;
  const auto budget = std::make_shared<MemoryBudget>(16 * MiB);
  RunPool part(1, nullptr, nullptr, nullptr, budget), other(1, nullptr, nullptr, nullptr, budget);
  for (RunPool* const pool : {&part, &other, &part}) {
    Run* const run = pool->take(nullptr);
    pool->bind(*run, plan, wiring);
    CHECK(part.bytes() + other.bytes() < 13 * MiB);
    pool->give_back(run);
  }
}

TEST_CASE("callers at once within a budget: each run is whole, or says that there is no room") {
  const Graph graph = graph_within(20 * MiB);  // for one of them at a time
  const std::vector<float> expected = run_rows(graph_within(0), 2500);
  std::atomic<int> whole{0}, wrong{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 10; ++round) {
          try {
            wrong += run_rows(graph, 2500) != expected;
            ++whole;
          } catch (const Error& error) { wrong += error.kind() != ErrorKind::device; }
        }
      });
    }
  }
  CHECK(whole > 0);
  CHECK(wrong == 0);
  for (const std::int64_t rows : {2500, 2600, 100}) run_rows(graph, rows);
}

TEST_CASE("a trimmed graph is as small as after its first run, and as right") {
  const Graph graph = graph_within(0, 2);
  const std::vector<float> expected = run_rows(graph, 64);
  const std::size_t first = testing::resident_bytes();
  run_rows(graph, 60'000);  // 240 MiB between its layers
  CHECK(testing::resident_bytes() > first + 150 * MiB);
  graph.trim();
  CHECK(run_rows(graph, 64) == expected);
#ifndef DYN_SANITIZED  // the address sanitizer keeps blocks that were freed
  CHECK(testing::resident_bytes() < first + first / 20);
#endif
  Call call(graph);
  call.set_input(0, Tensor(DType::f32, {64, 256}));
  call.run();
  graph.trim();
  call.run();  // its plan and memory are gone: it has others
}

TEST_CASE("trim beside runs disturbs none") {
  const Graph graph = graph_within(0, 2);
  const std::vector<float> expected = run_rows(graph, 100);
  std::atomic<bool> over{false};
  std::atomic<int> wrong{0};
  {
    std::jthread trimmer([&] {
      while (!over) graph.trim();
    });
    std::vector<std::jthread> callers;
    for (int i = 0; i < 2; ++i) {
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round) wrong += run_rows(graph, 100) != expected;
      });
    }
    callers.clear();
    over = true;
  }
  CHECK(wrong == 0);
}
