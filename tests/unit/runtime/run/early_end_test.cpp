// Runs that their host ends early, on every kind of model: the error, and that graphs, calls and
// sessions go on as if the run had not been.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"
#include "tests/unit/runtime/run/counting_loop.hpp"

using namespace dyn;
using namespace std::chrono_literals;
using testing::check_error;
using testing::uncached;

namespace {

using Clock = std::chrono::steady_clock;

/// Products, reductions, a sort on the host, and sums that are cut.
const char* const mixed = R"(dyn 1
weight w0: f32[64, 256] = random 1
weight b0: f32[256] = random 2
weight gamma: f32[256] = random 4
weight beta: f32[256] = random 5
weight w1: f32[256, 96] = random 3
dim B in 1..64
dim S in 1..4096
graph mixed(x: f32[B, S, 64]) -> (y: f32[B, S, 96], top: f32[B, S, 1], mean: f32[B, 96]) {
  h = gelu(matmul(x, w0) + b0)
  g = layer_norm(h, gamma, beta)
  y = softmax(matmul(g, w1)) axis=-1
  top, place = topk(y) axis=-1 k=1
  return y, top, reduce_mean(y) axes=[1] keepdims=false
}
)";

std::vector<float> values(const Tensor& tensor) {
  const auto data = tensor.data<float>();
  return {data.begin(), data.end()};
}

std::vector<std::vector<float>> values(const Graph& graph, const Call& call) {
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) all.push_back(values(call.output(i)));
  return all;
}

RunOptions cancelled() {
  RunOptions options{.cancellation = Cancellation()};
  options.cancellation->cancel();
  return options;
}

RunOptions past() { return {.deadline = Clock::now() - 1h}; }

/// Something that may end a run, and does not.
RunOptions patient() { return {.deadline = Clock::now() + 24h, .cancellation = Cancellation()}; }

}  // namespace

TEST_CASE("a cancellation is one for all its copies, and stays") {
  const Cancellation first;
  Cancellation second = first, third;
  CHECK(!second.cancelled());
  std::thread([second] { second.cancel(); }).join();
  CHECK(first.cancelled());
  CHECK(!third.cancelled());
  third = std::move(second);
  CHECK(third.cancelled());
  CHECK(second.cancelled());  // moving copies
}

TEST_CASE("a run that is ended says why and in which group, on every device") {
  for (const char* device : {"cpu", "reference", "emulator"}) {
    CAPTURE(std::string(device));
    const Graph graph = Graph::from_text(mixed, uncached(2, device));
    const std::string group = std::string(device) == "reference" ? "matmul (" : "(group 1 of ";
    const Tensor x(DType::f32, {2, 3, 64});
    check_error(
        ErrorKind::cancelled, [&] { graph.run({{"x", x}}, cancelled()); }, "was cancelled", group);
    check_error(
        ErrorKind::cancelled, [&] { graph.run({{"x", x}}, past()); },
        "the deadline of the run has passed", group);
    const Outputs alone = graph.run({{"x", x}}), patiently = graph.run({{"x", x}}, patient());
    for (std::size_t i = 0; i < alone.size(); ++i) CHECK(values(alone[i]) == values(patiently[i]));
    Call call(graph);
    call.set_input("x", x);
    check_error(ErrorKind::cancelled, [&] { call.run(past()); }, "deadline");
    call.run();
    CHECK(values(call.output(0)) == values(alone[0]));
  }
}

TEST_CASE(
    "deadlines that end runs anywhere: the next run has the bits of one that nobody disturbed") {
  std::mt19937_64 random(testing::test_seed());
  for (const int threads : {1, 2, 3}) {
    const Graph graph = Graph::from_text(mixed, uncached(threads));
    const std::vector<float> x = testing::random_values(8 * 500 * 64, 3);
    Call call(graph);
    call.set_input("x", Tensor::view(x, {8, 500, 64}));
    call.run();
    const auto expected = values(graph, call);
    const Clock::time_point start = Clock::now();
    call.run();
    const auto took = Clock::now() - start;
    int ended = 0;
    for (int round = testing::test_rounds(40); round > 0; --round) {
      const RunOptions options{.deadline = Clock::now() + random() % 1000 * took / 1000,
                               .cancellation = Cancellation()};
      try {
        call.run(options);
      } catch (const Error& error) {
        ++ended;
        CHECK(error.kind() == ErrorKind::cancelled);
      }
      if (round % 2 == 0) call.run();  // else the next one may be ended as well
    }
    call.run();
    CHECK(values(graph, call) == expected);
    CHECK(ended > 0);
  }
}

TEST_CASE("another thread cancels many runs at once") {
  const Graph graph = Graph::from_text(mixed, uncached(2));
  const Cancellation cancellation;
  std::vector<std::string> whys(3);
  std::vector<std::thread> callers;
  const Tensor x(DType::f32, {8, 200, 64});
  for (std::string& why : whys) {
    callers.emplace_back([&] {
      try {
        for (;;) graph.run({{"x", x}}, {.cancellation = cancellation});
      } catch (const Error& error) { why = name_of(error.kind()); }
    });
  }
  std::this_thread::sleep_for(20ms);
  cancellation.cancel();
  for (std::thread& caller : callers) caller.join();
  CHECK(whys == std::vector<std::string>(3, "cancelled"));
  graph.run({{"x", x}});
}

TEST_CASE("a session that a run is ended in keeps its length and what it had") {
  const char* const appended = R"(dyn 1
weight w: f32[64, 64] = random 1
dim B in 1..4 hint 2
dim S in 0..512
dim P in 0..4096
dim C in 1..4096 hint 4096
state rows: f32[B, C, 64]
graph appended(x: f32[B, S, 64]) -> (sum: f32[B, 64], last: f32[B, S, 64]) {
  y = tanh(matmul(x, w))
  all = append(rows, y) at=P axis=1
  return reduce_sum(slice(all) axes=[1] starts=[0] ends=[P + S]) axes=[1] keepdims=false, y
}
)";
  std::mt19937_64 random(testing::test_seed());
  for (const char* device : {"cpu", "reference"}) {
    CAPTURE(std::string(device));
    const bool slow = std::string(device) == "reference";
    const std::int64_t length = slow ? 3 : 128;
    const Graph graph = Graph::from_text(appended, uncached(2, device));
    Session disturbed(graph), alone(graph);
    for (int step = 0; step < 12; ++step) {
      const std::vector<float> x = testing::random_values(static_cast<std::size_t>(2 * length * 64),
                                                          50U + static_cast<unsigned>(step));
      const NamedTensors inputs{{"x", Tensor::view(x, {2, length, 64})}};
      const Outputs expected = alone.run(inputs);
      for (int attempt = 0; attempt < 3; ++attempt) {
        const std::int64_t before = disturbed.length();
        RunOptions options = attempt == 0 ? past() : RunOptions();
        if (attempt > 0)
          options.deadline = Clock::now() + std::chrono::microseconds(random() % 300);
        try {
          disturbed.run(inputs, options);
          disturbed.truncate(before);
        } catch (const Error& error) { CHECK(error.kind() == ErrorKind::cancelled); }
        CHECK(disturbed.length() == before);
      }
      const Outputs got = disturbed.run(inputs);
      CHECK(disturbed.length() == alone.length());
      for (std::size_t i = 0; i < got.size(); ++i) CHECK(values(got[i]) == values(expected[i]));
    }
  }
}

TEST_CASE("a loop that would go on for long is ended between its steps") {
  for (const char* device : {"cpu", "reference"}) {
    CAPTURE(std::string(device));
    Options options = uncached(1, device);
    options.max_loop_steps = 1'000'000;  // so that a loop that nobody ends is an error, too
    const Graph graph = Graph::from_text(testing::counting_loop, options);
    const RunOptions run{.cancellation = Cancellation()};
    std::thread other([&] {
      std::this_thread::sleep_for(10ms);
      run.cancellation->cancel();
    });
    check_error(
        ErrorKind::cancelled,
        [&] { graph.run(testing::inputs_of_counting(testing::steps_without_end), run); },
        "was cancelled", "step ", "loop");
    other.join();
    check_error(
        ErrorKind::cancelled, [&] { graph.run(testing::inputs_of_counting(3), past()); },
        "deadline", "step 0 of loop");
    const Outputs last = graph.run(testing::inputs_of_counting(4), patient());
    CHECK(last[0].data<std::int64_t>()[0] == 7);
    CHECK(last[0].data<std::int64_t>()[1] == 8);
  }
}

TEST_CASE("a recurrent layer whose threads wait for each other is ended without a hang") {
  const char* const recurrent = R"(dyn 1
weight w: f32[1, 256, 1024] = random 1
weight b: f32[1, 1024] = random 2
weight p: f32[1, 768] = random 3
dim S in 1..512
graph g(x: f32[S, 1, 1024], n: i32[1], h: f32[1, 1, 256], c: f32[1, 1, 256]) -> (y: f32[S, 1, 1, 256], m: f32[1, 1, 256]) {
  y, l, m = lstm(x, w, b, n, h, c, p)
  return y * 2.0, m
}
)";
  std::mt19937_64 random(testing::test_seed());
  for (const int threads : {1, 3}) {
    const Graph graph = Graph::from_text(recurrent, uncached(threads));
    Call call(graph);
    const std::vector<float> x = testing::random_values(100 * 1024, 5);
    call.set_input("x", Tensor::view(x, {100, 1, 1024}));
    call.set_input("n", Tensor::from<std::int32_t>({100}, {1}));
    for (const char* state : {"h", "c"}) call.set_input(state, Tensor(DType::f32, {1, 1, 256}));
    call.run();
    const auto expected = values(graph, call);
    for (int round = testing::test_rounds(200); round > 0; --round) {
      try {
        call.run({.deadline = Clock::now() + std::chrono::microseconds(random() % 400)});
      } catch (const Error& error) { CHECK(error.kind() == ErrorKind::cancelled); }
    }
    call.run();
    CHECK(values(graph, call) == expected);
  }
}

TEST_CASE("a run that something may end allocates nothing, either") {
  for (const int threads : {1, 2}) {
    const Graph graph = Graph::from_text(R"(dyn 1
weight w: f32[64, 64] = random 1
dim N in 1..4096
graph g(x: f32[N, 64]) -> (y: f32[N, 64]) {
  return softmax(matmul(x, w)) axis=-1
}
)",
                                         uncached(threads));
    Call call(graph);
    call.set_input(0, Tensor(DType::f32, {300, 64}));
    const RunOptions options = patient();
    for (int i = 0; i < 20; ++i) call.run(options);
    const std::int64_t before = testing::allocations_of_this_thread();
    for (int i = 0; i < 100; ++i) call.run(options);
    CHECK(testing::allocations_of_this_thread() == before);
  }
}

TEST_CASE("a device has little in flight for a run that may be ended, and is waited for") {
  using namespace testing;
  for (const bool is_long : {true, false}) {
    CAPTURE(is_long);
    FakeGpu gpu = with_mask(std::make_shared<FakeDevice>(), all_groups);
    const Cancellation cancellation;
    bool cancels = false;
    gpu.predicted_seconds = is_long ? 0.01 : 0;
    gpu.runs = [&] {
      if (cancels) cancellation.cancel();
    };
    const auto model = load_model(chain, fake_gpu(gpu));
    runtime::CallState call(model), expected(load_reference(chain));
    set_chain(call, *model, 5);
    set_chain(expected, *model, 5);
    expected.run();
    const auto run = [&](const RunOptions& options) {
      const int before = gpu.device->counts().launches;
      call.run(runtime::RunControl(options));
      CHECK(gpu.device->counts().launches - before == 3);
      CHECK(difference(*model, call, expected) < 2e-4);
    };
    for (int round = 0; round < 3; ++round) run({});  // launches go in graphs now
    const int replays = gpu.device->counts().replays, launches = gpu.device->counts().launches;
    CHECK(replays > 0);
    cancels = true;
    const RunOptions cancelling{.cancellation = cancellation};
    if (is_long) {
      check_error(
          ErrorKind::cancelled, [&] { call.run(runtime::RunControl(cancelling)); },
          "(group 2 of 3)");
      CHECK(gpu.device->counts().launches - launches == 1);
    } else {
      run(cancelling);
    }
    CHECK(gpu.device->counts().replays - replays == (is_long ? 0 : 1));
    CHECK(gpu.device->queued_commands() == 0);
    run({.cancellation = Cancellation()});
    run({});
  }
}
