// What a host in C decides of loads and runs.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "dyn/plugin.h"
#include "tests/unit/c/handles.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn::testing;

namespace {

const char* const host_layer = R"(dyn 1
dim N in 1..4096
weight w: f32[24, 16] = random 5
graph layer(x: f32[N, 24]) -> (y: f32[N, 16]) {
  y = relu(matmul(x, w))
  return y
}
)";

/// One input of `rows` rows, and the result that C++ computes.
struct Rows {
  explicit Rows(std::int64_t rows, const char* text = host_layer)
      : x(static_cast<std::size_t>(rows * 24)), shape{rows, 24} {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25F * static_cast<float>(i % 13) - 1;
    succeeds(dyn_tensor_view_const(DYN_F32, x.data(), 2, shape.data(), Into(tensor)));
    input = {"x", tensor.get()};
    const dyn::Graph graph = dyn::Graph::from_text(text, uncached(1));
    const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::view(x, {rows, 24})}});
    const auto y = outputs[0].data<float>();
    expected.assign(y.begin(), y.end());
  }

  void check(const dyn_tensor* output) const {
    const void* data = nullptr;
    succeeds(dyn_tensor_data(output, DYN_F32, &data));
    REQUIRE(data != nullptr);
    const auto* y = static_cast<const float*>(data);
    CHECK(std::equal(expected.begin(), expected.end(), y, [](float a, float b) {
      return std::abs(a - b) <= 1e-4F * std::max(1.0F, std::abs(a));
    }));
  }
  void check_run(const dyn_graph* graph, const dyn_run_options* options = nullptr) const {
    CTensor output;
    succeeds(dyn_graph_run_with(graph, 1, &input, 1, Into(output), options));
    check(output.get());
  }

  std::vector<float> x, expected;
  std::array<int64_t, 2> shape;
  CTensor tensor;
  dyn_named_tensor input{};
};

dyn_run_options within(int64_t timeout_ns) {
  dyn_run_options options{};
  options.struct_size = sizeof options;
  options.has_timeout = true;
  options.timeout_ns = timeout_ns;
  return options;
}

}  // namespace

TEST_CASE("C: a timeout ends a run, and the next one is right") {
  const COptions options = c_options();
  const CGraph graph = c_graph(host_layer, options.get());
  const Rows rows(33);
  CTensor output;
  for (const int64_t timeout : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    const dyn_run_options past = within(timeout);
    fails(DYN_ERROR_CANCELLED,
          dyn_graph_run_with(graph.get(), 1, &rows.input, 1, Into(output), &past), "group 1 of");
    CHECK(output == nullptr);
  }
  const dyn_run_options late = within(INT64_MAX);
  rows.check_run(graph.get(), &late);
  dyn_run_options none = within(0);
  none.has_timeout = false;
  rows.check_run(graph.get(), &none);

  CCall call;
  succeeds(dyn_call_create(graph.get(), Into(call)));
  succeeds(dyn_call_set_input(call.get(), 0, rows.tensor.get()));
  const dyn_run_options past = within(0);
  fails(DYN_ERROR_CANCELLED, dyn_call_run_with(call.get(), &past), "");
  succeeds(dyn_call_run_with(call.get(), &late));
  succeeds(dyn_call_output(call.get(), 0, Into(output)));
  rows.check(output.get());

  dyn_run_options wrong = within(0);
  wrong.struct_size = 0;
  fails(DYN_ERROR_USER, dyn_call_run_with(call.get(), &wrong), "sizeof *options");
}

TEST_CASE("C: a cancellation ends runs, also of sessions") {
  const COptions options = c_options();
  const CGraph graph = c_graph(host_layer, options.get());
  const Rows rows(5);
  CCancellation cancellation;
  succeeds(dyn_cancellation_create(Into(cancellation)));
  bool is_cancelled = true;
  succeeds(dyn_cancellation_is_cancelled(cancellation.get(), &is_cancelled));
  CHECK_FALSE(is_cancelled);
  dyn_run_options ends{};
  ends.struct_size = sizeof ends;
  ends.cancellation = cancellation.get();
  rows.check_run(graph.get(), &ends);
  CSession session;
  succeeds(dyn_session_create(graph.get(), 0, nullptr, Into(session)));
  succeeds(dyn_cancellation_cancel(cancellation.get()));
  succeeds(dyn_cancellation_is_cancelled(cancellation.get(), &is_cancelled));
  CHECK(is_cancelled);
  CTensor output;
  fails(DYN_ERROR_CANCELLED,
        dyn_session_run_with(session.get(), 1, &rows.input, 1, Into(output), &ends), "cancelled");
  fails(DYN_ERROR_CANCELLED,
        dyn_graph_run_with(graph.get(), 1, &rows.input, 1, Into(output), &ends), "cancelled");
  ends.cancellation = reinterpret_cast<const dyn_cancellation*>(graph.get());
  fails(DYN_ERROR_USER, dyn_graph_run_with(graph.get(), 1, &rows.input, 1, Into(output), &ends),
        "cancellation");
}

TEST_CASE("C: runs beside their caller") {
  const COptions options = c_options();
  const CGraph graph = c_graph(host_layer, options.get());
  const Rows rows(40);
  CAsyncRun run;
  succeeds(dyn_graph_run_async(graph.get(), 1, &rows.input, nullptr, Into(run)));
  bool is_over = false;
  succeeds(dyn_async_run_wait(run.get(), INT64_MAX, &is_over));
  CHECK(is_over);
  succeeds(dyn_async_run_is_over(run.get(), &is_over));
  CHECK(is_over);
  CTensor output;
  succeeds(dyn_async_run_get(run.get(), 1, Into(output)));
  rows.check(output.get());
  fails(DYN_ERROR_USER, dyn_async_run_get(run.get(), 1, Into(output)), "");

  const dyn_run_options past = within(0);
  succeeds(dyn_graph_run_async(graph.get(), 1, &rows.input, &past, Into(run)));
  succeeds(dyn_async_run_cancel(run.get()));
  fails(DYN_ERROR_CANCELLED, dyn_async_run_get(run.get(), 1, Into(output)), "");
  const dyn_named_tensor unknown{"z", rows.tensor.get()};
  succeeds(dyn_graph_run_async(graph.get(), 1, &unknown, nullptr, Into(run)));
  fails(DYN_ERROR_USER, dyn_async_run_get(run.get(), 1, Into(output)), "z");
}

namespace {

struct Heard {
  std::atomic<int> calls = 0;
  dyn_kind kind = -1;
  CTensor output;
};

void hear(void* context, dyn_status* failure, size_t count, dyn_tensor* const* outputs) {
  auto& heard = *static_cast<Heard*>(context);
  heard.kind = dyn_status_kind(failure);
  dyn_status_release(failure);
  if (count == 1) heard.output.reset(outputs[0]);
  ++heard.calls;
  heard.calls.notify_all();
}

}  // namespace

TEST_CASE("C: a function hears of the end of a run") {
  const COptions options = c_options();
  const CGraph graph = c_graph(host_layer, options.get());
  const Rows rows(9);
  Heard right, ended;
  const dyn_run_options past = within(0);
  succeeds(dyn_graph_run_async_then(graph.get(), 1, &rows.input, nullptr, hear, &right));
  succeeds(dyn_graph_run_async_then(graph.get(), 1, &rows.input, &past, hear, &ended));
  right.calls.wait(0);
  ended.calls.wait(0);
  CHECK(right.kind == -1);
  rows.check(right.output.get());
  CHECK(ended.kind == DYN_ERROR_CANCELLED);
  CHECK(ended.output == nullptr);
  fails(DYN_ERROR_USER,
        dyn_graph_run_async_then(graph.get(), 1, &rows.input, nullptr, nullptr, nullptr), "done");
}

namespace {

/// A host that starts a thread for each task, takes none, or releases it.
struct Threads {
  enum class Does { run, refuse, drop } does = Does::run;
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::atomic<int> tasks = 0, released = 0, failures = 0;

  void join() {
    while (true) {
      std::vector<std::thread> all;
      {
        const std::lock_guard lock(mutex);
        all.swap(threads);
      }
      if (all.empty()) return;
      for (std::thread& thread : all) thread.join();
    }
  }
};

bool take_task(void* context, dyn_task* task) {
  auto& threads = *static_cast<Threads*>(context);
  ++threads.tasks;
  if (threads.does == Threads::Does::refuse) return false;
  if (threads.does == Threads::Does::drop) {
    dyn_task_release(task);
    return true;
  }
  const std::lock_guard lock(threads.mutex);
  threads.threads.emplace_back([&threads, task] {
    if (dyn_status* status = dyn_task_run(task)) {
      ++threads.failures;
      dyn_status_release(status);
    }
    dyn_status* again = dyn_task_run(task);  // its handle is gone
    if (dyn_status_kind(again) != DYN_ERROR_USER) ++threads.failures;
    dyn_status_release(again);
  });
  return true;
}

dyn_executor executor_of(Threads& threads) {
  dyn_executor executor{};
  executor.struct_size = sizeof executor;
  executor.context = &threads;
  executor.concurrency = [](void*) { return 2; };
  executor.submit = take_task;
  executor.release = [](void* context) { ++static_cast<Threads*>(context)->released; };
  return executor;
}

}  // namespace

TEST_CASE("C: the host's threads run tasks, refuse them or drop them, and results are right") {
  const Rows rows(2000);
  for (const auto does : {Threads::Does::run, Threads::Does::refuse, Threads::Does::drop}) {
    Threads threads;
    threads.does = does;
    {
      const COptions options = c_options(0);
      const dyn_executor executor = executor_of(threads);
      succeeds(dyn_options_set_executor(options.get(), &executor));
      const CGraph graph = c_graph(host_layer, options.get());
      for (int i = 0; i < 5; ++i) rows.check_run(graph.get());
      CHECK(threads.tasks > 0);
      CHECK(threads.released == 0);
    }
    threads.join();
    CHECK(threads.failures == 0);
    CHECK(threads.released == 1);
  }
  Threads threads;
  const COptions options = c_options(0);
  dyn_executor executor = executor_of(threads);
  executor.submit = nullptr;
  fails(DYN_ERROR_USER, dyn_options_set_executor(options.get(), &executor), "executor->submit");
  CHECK(threads.released == 0);
  executor = executor_of(threads);
  succeeds(dyn_options_set_executor(options.get(), &executor));
  succeeds(dyn_options_set_executor(options.get(), nullptr));
  CHECK(threads.released == 1);
}

namespace {

struct Memory {
  std::atomic<int64_t> live = 0, given = 0, most = INT64_MAX;
  int released = 0;
};

void* allocate(void* context, size_t bytes, size_t alignment) {
  auto& memory = *static_cast<Memory*>(context);
  if (static_cast<int64_t>(bytes) > memory.most) return nullptr;
  memory.live += static_cast<int64_t>(bytes);
  ++memory.given;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void deallocate(void* context, void* memory, size_t bytes, size_t) {
  static_cast<Memory*>(context)->live -= static_cast<int64_t>(bytes);
  std::free(memory);
}

}  // namespace

TEST_CASE("C: the host's memory is given back") {
  Memory memory;
  const Rows rows(300);
  {
    const COptions options = c_options();
    dyn_allocator allocator{sizeof(dyn_allocator), &memory, allocate, deallocate,
                            [](void* context) { ++static_cast<Memory*>(context)->released; }};
    succeeds(dyn_options_set_allocator(options.get(), &allocator));
    const CGraph graph = c_graph(host_layer, options.get());
    rows.check_run(graph.get());
    CHECK(memory.given > 0);
    CHECK(memory.live > 0);
    memory.most = 1000;
    CTensor output;
    const Rows more(3000);
    fails(DYN_ERROR_DEVICE, dyn_graph_run(graph.get(), 1, &more.input, 1, Into(output)), "");
    memory.most = INT64_MAX;
    more.check_run(graph.get());
    allocator.allocate = nullptr;
    fails(DYN_ERROR_USER, dyn_options_set_allocator(options.get(), &allocator),
          "allocator->allocate");
  }
  CHECK(memory.live == 0);
  CHECK(memory.released == 1);
}

TEST_CASE("C: memory needed, a budget, and trim") {
  const COptions options = c_options();
  succeeds(dyn_options_set_integer(options.get(), "threads", 1));
  const CGraph graph = c_graph(host_layer, options.get());
  const dyn::Graph same = dyn::Graph::from_text(host_layer, uncached(1));
  const int64_t sizes[] = {1000, 24};
  const dyn_named_shape shape{"x", 2, sizes};
  dyn_memory_needed needed{};
  needed.struct_size = sizeof needed;
  succeeds(dyn_graph_memory_needed(graph.get(), 1, &shape, &needed));
  const dyn::MemoryNeeded expected = same.memory_needed({{"x", {1000, 24}}});
  CHECK(needed.weights == expected.weights);
  CHECK(needed.intermediates == expected.intermediates);
  CHECK(needed.outputs == expected.outputs);
  CHECK(needed.outputs >= 1000 * 16 * sizeof(float));

  const uint64_t total = needed.weights + needed.intermediates + needed.outputs;
  succeeds(
      dyn_options_set_integer(options.get(), "memory_budget", static_cast<int64_t>(total - 1)));
  const CGraph bounded = c_graph(host_layer, options.get());
  const Rows rows(1000), few(2);
  CTensor output;
  fails(DYN_ERROR_DEVICE, dyn_graph_run(bounded.get(), 1, &rows.input, 1, Into(output)),
        "memory_budget");
  few.check_run(bounded.get());
  succeeds(dyn_graph_trim(bounded.get()));
  few.check_run(bounded.get());
}

TEST_CASE("C: the host hears of a load, and ends it") {
  // Its kernels are those of no other test: what another graph of the process has is not compiled.
  const std::string layer = R"(dyn 1
dim N in 1..4096
weight w: f32[23, 19] = random 5
graph layer(x: f32[N, 23]) -> (y: f32[N, 19]) {
  y = tanh(matmul(x, w))
  return y
}
)";
  struct Stages {
    std::set<std::string> heard;
    bool go_on = true;
  } stages;
  const COptions options = c_options();
  const auto hear_stage = [](void* context, const char* stage, int64_t done, int64_t total) {
    CHECK(done <= total);
    static_cast<Stages*>(context)->heard.insert(stage);
    return static_cast<Stages*>(context)->go_on;
  };
  succeeds(dyn_options_set_progress(options.get(), hear_stage, &stages));
  c_graph(layer.c_str(), options.get());
  CHECK(stages.heard == std::set<std::string>{"parse", "compile", "weights"});
  stages.go_on = false;
  CGraph graph;
  fails(DYN_ERROR_CANCELLED,
        dyn_graph_from_text(layer.data(), layer.size(), options.get(), nullptr, Into(graph)), "");
  succeeds(dyn_options_set_progress(options.get(), nullptr, nullptr));
  c_graph(layer.c_str(), options.get());
}

namespace {

int shape_of_sum(const dyn_plugin_shape_call* call, void*) {
  call->outputs[0] = call->inputs[0];
  return 0;
}

/// y[i] = x[0] + ... + x[i] over all elements, times `data`.
int running_sum(const dyn_plugin_kernel_call* call, void* data) {
  const dyn_plugin_tensor& x = call->inputs[0];
  int64_t elements = 1;
  for (uint32_t i = 0; i < x.rank; ++i) elements *= x.sizes[i];
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) {
    sum += static_cast<const float*>(x.data)[i];
    static_cast<float*>(call->outputs[0].data)[i] =
        static_cast<float>(sum) * *static_cast<float*>(data);
  }
  return 0;
}

}  // namespace

TEST_CASE("C: the program's own operators") {
  int released = 0;
  float factor = 2;
  const char* const names[] = {"x"};
  dyn_plugin_operator kernel{};
  kernel.struct_size = sizeof kernel;
  kernel.output_count = 1;
  kernel.domain = "my";
  kernel.name = "running_sum";
  kernel.input_count = 1;
  kernel.input_names = names;
  kernel.shape = shape_of_sum;
  kernel.kernel = running_sum;
  kernel.data = &factor;
  dyn_plugin_operator expression{};
  expression.struct_size = sizeof expression;
  expression.output_count = 1;
  expression.domain = "my";
  expression.name = "swish";
  expression.input_count = 1;
  expression.input_names = names;
  expression.expression = "x * sigmoid(x)";
  const dyn_plugin_operator* const operators[] = {&kernel, &expression};
  dyn_plugin table{sizeof(dyn_plugin), DYN_PLUGIN_VERSION, 2, operators};
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  {
    const COptions options = c_options();
    succeeds(dyn_options_add_operators(options.get(), &table, release, &released));
    fails(DYN_ERROR_USER, dyn_options_add_operators(options.get(), &table, release, &released),
          "my::");
    CHECK(released == 0);
    const CGraph graph = c_graph(R"(dyn 1
dim N in 1..64
graph g(x: f32[N]) -> (y: f32[N]) {
  y = my::running_sum(my::swish(x))
  return y
}
)",
                                 options.get());
    for (const int64_t n : {3, 17}) {
      std::vector<float> x;
      for (int64_t i = 0; i < n; ++i) x.push_back(0.3F * static_cast<float>(i) - 0.7F);
      CTensor tensor, output;
      succeeds(dyn_tensor_view_const(DYN_F32, x.data(), 1, &n, Into(tensor)));
      const dyn_named_tensor input{"x", tensor.get()};
      succeeds(dyn_graph_run(graph.get(), 1, &input, 1, Into(output)));
      const void* data = nullptr;
      succeeds(dyn_tensor_data(output.get(), DYN_F32, &data));
      double sum = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        sum += static_cast<double>(x[i]) / (1 + std::exp(-static_cast<double>(x[i])));
        CHECK(static_cast<const float*>(data)[i] == doctest::Approx(2 * sum).epsilon(1e-5));
      }
    }
  }
  CHECK(released == 1);
  const COptions options = c_options();
  table.version = 2 << 16;
  fails(DYN_ERROR_UNSUPPORTED, dyn_options_add_operators(options.get(), &table, release, &released),
        "version 2.0");
  fails(DYN_ERROR_USER, dyn_options_add_operators(options.get(), nullptr, nullptr, nullptr),
        "table");
  CHECK(released == 1);
  succeeds(dyn_options_add_plugin(options.get(), "./no_plugin.so"));
  CGraph graph;
  fails(
      DYN_ERROR_DEVICE,
      dyn_graph_from_text(host_layer, std::strlen(host_layer), options.get(), nullptr, Into(graph)),
      "the plug-in './no_plugin.so'");
}
