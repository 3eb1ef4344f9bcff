// Threads that the host lends: loads and runs with executors of all kinds, bad ones too.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/base/crew.hpp"
#include "src/runtime/run/run_pool.hpp"
#include "src/runtime/system/parallel_for.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/executors.hpp"

using namespace dyn;
using namespace std::chrono_literals;
using testing::check_error;
using testing::OddExecutor;
using testing::PoolExecutor;
using testing::Task;
using testing::uncached;

namespace {

/// Tasks that wait for somebody to run them.
struct Queue {
  std::mutex mutex;
  std::vector<Task> tasks;
  void keep(Task task) {
    const std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
  }
  std::vector<Task> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(tasks, {});
  }
};

const char* const two_layers = R"(dyn 1
weight w0: f32[256, 1024] = random 1
weight w1: f32[1024, 256] = random 2
dim B in 1..4096
graph mlp(x: f32[B, 256]) -> (y: f32[B, 256]) {
  h = gelu(matmul(x, w0))
  return softmax(matmul(h, w1)) axis=-1
}
)";

Options lent(std::shared_ptr<Executor> executor) {
  Options options = uncached(0);
  options.deterministic = true;
  options.executor = std::move(executor);
  return options;
}

std::vector<float> two_layers_on(const Graph& graph) {
  const std::vector<float> x = testing::random_values(300 * 256, 4);
  const Outputs outputs = graph.run({{"x", Tensor::view(x, {300, 256})}});
  const auto data = outputs[0].data<float>();
  return {data.begin(), data.end()};
}

const std::vector<float>& two_layers_alone() {
  static const std::vector<float> values = [] {
    Options options = uncached(1);
    options.deterministic = true;
    return two_layers_on(Graph::from_text(two_layers, options));
  }();
  return values;
}

std::set<std::string> threads_of_process() {
  std::set<std::string> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.insert(entry.path().filename().string());
  return threads;
}

/// Runs of one stage that all threads share, whatever the machine is like.
struct SharedStage {
  static constexpr std::int64_t tickets = 20;
  SharedStage(const std::shared_ptr<Executor>& executor, int threads)
      : pool(threads, nullptr, nullptr, executor) {
    rkernel::Launch launch;
    launch.function = [](const rkernel::KernelArgs* args, std::int64_t, std::int64_t count, void*) {
      auto& of = *static_cast<SharedStage*>(args->pointers[0]);
      std::this_thread::sleep_for(200us);
      of.done += count;
      if (std::this_thread::get_id() != of.caller) ++of.helped;
    };
    launch.tickets = tickets;
    plan->threads = launch.threads = threads;
    plan->launches.push_back(launch);
    wiring.operands.push_back({runtime::OperandSource::Kind::Input, 0, nullptr});
    wiring.first_operand = {0, 1};
  }
  /// Returns how many tickets were done.
  std::int64_t run() {
    done = 0;
    runtime::Run* const run = pool.take(nullptr);
    run->bind(plan, wiring);
    const runtime::PortMemory in[] = {{this, {}}};
    run->set_ports(in, {}, {});
    run->execute(pool.helpers(), {});
    pool.give_back(run);
    return done;
  }

  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<std::int64_t> done{0}, helped{0};
  std::shared_ptr<runtime::Plan> plan = std::make_shared<runtime::Plan>();
  runtime::Wiring wiring;
  runtime::RunPool pool;
};

}  // namespace

TEST_CASE("an executor's threads load and run, and no other thread is started") {
  two_layers_alone();
  for (const int threads : {0, 1, 2}) {
    const auto pool = std::make_shared<PoolExecutor>(threads);
    const std::set<std::string> before = threads_of_process();
    const Graph graph = Graph::from_text(two_layers, lent(pool));
    Call call(graph);
    const std::vector<float> x = testing::random_values(300 * 256, 4);
    call.set_input(0, Tensor::view(x, {300, 256}));
    for (int run = 0; run < 30; ++run) call.run();
    CHECK(two_layers_on(graph) == two_layers_alone());
    const std::set<std::string> after = threads_of_process();
    CHECK(std::ranges::includes(before, after));
    CHECK((pool->submitted > 0) == (threads > 0));
  }
}

TEST_CASE("executors that never run a task, drop it, throw, or run it at a strange time") {
  Queue late, never;
  std::vector<std::jthread> threads;
  const std::vector<std::pair<std::string, std::function<void(Task)>>> kinds = {
      {"never", [&](Task task) { never.keep(std::move(task)); }},
      {"drops", [](Task) {}},
      {"throws", [](Task) { throw std::runtime_error("no"); }},
      {"throws something else, and keeps it",
       [&](const Task& task) {
         never.keep(task);
         throw 7;
       }},
      {"within submit", [](const Task& task) { task(); }},
      {"twice", [&](Task task) { late.keep(task), late.keep(std::move(task)); }},
      {"in a thread of its own",
       [&](Task task) { threads.emplace_back([task = std::move(task)] { task(); }); }}};
  for (const auto& [name, takes] : kinds) {
    CAPTURE(name);
    const auto executor = std::make_shared<OddExecutor>(takes);
    {
      const Graph graph = Graph::from_text(two_layers, lent(executor));
      SharedStage stage(executor, 3);
      const int by_load = executor->submitted;
      for (int run = 0; run < 5; ++run) {
        CHECK(two_layers_on(graph) == two_layers_alone());
        CHECK(stage.run() == SharedStage::tickets);
        for (const Task& task : late.take()) std::thread(task).join();
      }
      const int by_runs = executor->submitted - by_load;
      CHECK(by_runs > 0);
      CHECK(by_runs < 1000);
      if (name == "never") CHECK(by_runs == 2);  // as many as may be there: none has gone
      if (name == "drops") CHECK(by_runs > 2);
      threads.clear();
    }
    for (const Task& task : late.take()) task();
  }
  for (const Task& task : never.take()) std::thread(task).join();  // their graphs are gone
}

TEST_CASE("helpers of an executor take chunks, and as many as it has threads") {
  const auto pool = std::make_shared<PoolExecutor>(1);
  SharedStage stage(pool, 2);
  for (int i = 0; i < 400 && stage.helped == 0; ++i) CHECK(stage.run() == SharedStage::tickets);
  CHECK(stage.helped > 0);
  CHECK(stage.pool.helpers().present() <= 1);
}

TEST_CASE("one set of helpers for each executor") {
  const auto one = std::make_shared<PoolExecutor>(1), other = std::make_shared<PoolExecutor>(1);
  const auto of_one = runtime::Helpers::of(one, 2);
  CHECK(runtime::Helpers::of(one, 2) == of_one);
  CHECK(runtime::Helpers::of(other, 2) != of_one);
  CHECK(runtime::Helpers::of_process(2) != of_one);
}

TEST_CASE("an executor of impossible concurrency is refused") {
  for (const int threads : {-1, 1024}) {
    check_error(
        ErrorKind::user,
        [&] {
          Graph::from_text(two_layers, lent(std::make_shared<OddExecutor>([](Task) {}, threads)));
        },
        "Executor::concurrency() is " + std::to_string(threads), "0..1023");
  }
}

TEST_CASE("a load on little stack is refused where no thread may be started") {
  struct Loading {
    Options options;
    std::string error;
  } loading;
  const auto load = [&](Options options) {
    loading = {std::move(options), ""};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_t thread{};
    const auto work = [](void* argument) -> void* {
      auto& of = *static_cast<Loading*>(argument);
      try {
        Graph::from_text(two_layers, of.options);
      } catch (const Error& error) {
        of.error = std::string(name_of(error.kind())) + ": " + error.what();
      }
      return nullptr;
    };
    REQUIRE(pthread_create(&thread, &attributes, work, &loading) == 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    return loading.error;
  };
  CHECK(load(uncached(1)).empty());
  const std::string error = load(lent(std::make_shared<OddExecutor>([](Task) {})));
  CAPTURE(error);
  CHECK(error.starts_with("user: a load needs "));
  CHECK(error.find("Options::executor") != std::string::npos);
}

TEST_CASE("a crew: who comes late does not begin, and who has come is waited for") {
  Queue late;
  OddExecutor executor([&](Task task) { late.keep(std::move(task)); });
  std::atomic<int> worked{0};
  {
    const LentThreads lent_here(&executor);
    const Crew::Attendance attendance;
    Crew nobody(3, [&](int) { ++worked; });
    CHECK(attendance.is_full());  // nobody is waited for yet
    CHECK(nobody.close(1ms) == 0);
    CHECK(!attendance.is_full());
    CHECK(late.tasks.size() == 3);
  }
  CHECK(LentThreads::current() == nullptr);
  for (const Task& task : late.take()) std::thread(task).join();
  CHECK(worked == 0);

  std::jthread other;
  OddExecutor at_once([&](Task task) { other = std::jthread(std::move(task)); });
  std::atomic<bool> here{false};
  {
    const LentThreads lent_here(&at_once);
    const Crew::Attendance attendance;
    Crew one(1, [&](int number) {
      CHECK(LentThreads::current() == &at_once);
      here = true;
      std::this_thread::sleep_for(20ms);
      worked = number;
    });
    while (!here) std::this_thread::yield();
    CHECK(one.close(1ms) == 1);
    CHECK(attendance.is_full());
  }
  CHECK(worked == 1);
}

TEST_CASE("a loop of a load on an executor's threads: each part once, and what it throws") {
  const auto pool = std::make_shared<PoolExecutor>(2);
  OddExecutor never([](Task) {});
  for (Executor* const executor :
       {static_cast<Executor*>(pool.get()), static_cast<Executor*>(&never)}) {
    const LentThreads lent_here(executor);
    for (const std::int64_t count : {0, 1, 7, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      runtime::parallel_for(count, 3, 3, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) ++done[static_cast<std::size_t>(i)];
      });
      CHECK(std::ranges::all_of(done, [](const std::atomic<int>& times) { return times == 1; }));
    }
    CHECK_THROWS_AS(runtime::parallel_for(100, 1, 3,
                                          [](std::int64_t first, std::int64_t) {
                                            if (first == 20) throw std::runtime_error("part 20");
                                          }),
                    std::runtime_error);
  }
}
