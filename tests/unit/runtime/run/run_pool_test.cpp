// The executor with kernels that are plain functions.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "src/runtime/run/run_pool.hpp"
#include "tests/unit/runtime/load/support.hpp"
#include "tests/unit/runtime/run/allocation_counter.hpp"

using namespace dyn;
using namespace dyn::runtime;

namespace {

/// y[i] = 3 * x[i] + i, one element a ticket; scratch is written in full to find threads that share
/// it.
void triple(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
            void* scratch) {
  const auto* x = static_cast<const std::int64_t*>(args->pointers[0]);
  auto* y = static_cast<std::int64_t*>(args->pointers[1]);
  auto* mine = static_cast<std::int64_t*>(scratch);
  for (std::int64_t i = first; i < first + count; ++i) {
    mine[i % 8] = i;
    y[i] = 3 * x[i] + mine[i % 8];
  }
}

void fail_at_seven(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                   void* scratch) {
  triple(args, first, count, scratch);
  std::int32_t ok = 0;
  if (first <= 7 && 7 < first + count)
    args->status->compare_exchange_strong(
        ok, static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange));
}

/// The first of two stages: the sum of 5 elements a ticket, to the memory of the run.
constexpr std::int64_t part_size = 5;
void sum_parts(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count, void*) {
  const auto* x = static_cast<const std::int64_t*>(args->pointers[0]);
  auto* sums = static_cast<std::int64_t*>(args->shared);
  for (std::int64_t i = first; i < first + count; ++i)
    sums[i] = std::accumulate(x + i * part_size, x + (i + 1) * part_size, std::int64_t{0});
}

/// The second stage: y[j] = the sum of the first stage's results, 7 * j from each part, so that
/// every ticket needs all of them.
void merge_parts(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count, void*) {
  const auto* sums = static_cast<const std::int64_t*>(args->shared);
  auto* y = static_cast<std::int64_t*>(args->pointers[1]);
  const std::int64_t parts = args->ints[0];
  for (std::int64_t j = first; j < first + count; ++j)
    y[j] = std::accumulate(sums, sums + parts, std::int64_t{0}) + 7 * j * parts;
}

constexpr int stages = 20;

/// A chain of stages from input 0 through two arena buffers to output 0.
Wiring chain_wiring() {
  using Kind = OperandSource::Kind;
  Wiring wiring;
  std::vector<Lifetime> lifetimes;
  for (int stage = 0; stage < stages; ++stage) {
    wiring.first_operand.push_back(wiring.operands.size());
    wiring.operands.push_back(stage == 0 ? OperandSource{Kind::Input, 0, nullptr}
                                         : OperandSource{Kind::Arena, stage - 1, nullptr});
    wiring.operands.push_back(stage == stages - 1 ? OperandSource{Kind::Output, 0, nullptr}
                                                  : OperandSource{Kind::Arena, stage, nullptr});
    if (stage < stages - 1) lifetimes.push_back({stage, stage + 1});
  }
  wiring.first_operand.push_back(wiring.operands.size());
  wiring.layout = ArenaLayout(lifetimes);
  return wiring;
}

PlanPtr chain_plan(const Wiring& wiring, std::int64_t size, std::int64_t grain, int threads,
                   int failing_stage = -1) {
  auto plan = std::make_shared<Plan>();
  const std::vector<std::size_t> bytes(wiring.layout.size(), static_cast<std::size_t>(size) * 8);
  plan->arena_offsets.resize(bytes.size());
  plan->arena_bytes = wiring.layout.place(bytes, plan->arena_offsets);
  plan->scratch_bytes = 64;
  plan->threads = threads;
  for (int stage = 0; stage < stages; ++stage) {
    rkernel::Launch launch;
    launch.function = stage == failing_stage ? fail_at_seven : triple;
    launch.tickets = size;
    launch.grain = grain;
    launch.scratch_bytes = 64;
    launch.threads = threads;
    plan->launches.push_back(launch);
  }
  return plan;
}

std::vector<std::int64_t> expected(std::vector<std::int64_t> values) {
  for (int stage = 0; stage < stages; ++stage) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 3 * values[i] + static_cast<std::int64_t>(i);
  }
  return values;
}

struct Caller {
  std::vector<std::int64_t> input, output;
  Run* last = nullptr;

  explicit Caller(std::int64_t size) : input(static_cast<std::size_t>(size)), output(input.size()) {
    std::iota(input.begin(), input.end(), 1);
  }
  int run(RunPool& pool, const Wiring& wiring, const PlanPtr& plan) {
    last = pool.take(last);
    last->bind(plan, wiring);
    const PortMemory in[] = {{input.data(), {}}}, out[] = {{output.data(), {}}};
    last->set_ports(in, out, {});
    const int failed = last->execute(pool.helpers(), {});
    pool.give_back(last);
    return failed;
  }
};

}  // namespace

TEST_CASE("stages run in order at any number of threads, tickets and grain") {
  const Wiring wiring = chain_wiring();
  for (const int threads : {1, 2, 3, 8}) {
    RunPool pool(threads);
    for (const std::int64_t size : {0, 1, 2, 7, 64, 1000}) {
      for (const std::int64_t grain : {1, 3, 100}) {
        CAPTURE(threads);
        CAPTURE(size);
        CAPTURE(grain);
        const PlanPtr plan = chain_plan(wiring, size, grain, threads);
        Caller caller(size);
        CHECK(caller.run(pool, wiring, plan) == -1);
        CHECK(caller.output == expected(caller.input));
      }
    }
  }
}

TEST_CASE("a second stage begins when the first is done, in memory that the run's threads share") {
  Wiring wiring;
  wiring.first_operand = {0, 2};
  wiring.operands = {{OperandSource::Kind::Input, 0, nullptr},
                     {OperandSource::Kind::Output, 0, nullptr}};
  for (const int threads : {1, 2, 3}) {
    RunPool pool(threads);
    for (const std::int64_t parts : {0, 1, 2, 60}) {
      CAPTURE(threads);
      CAPTURE(parts);
      const std::int64_t size = parts * part_size;
      auto plan = std::make_shared<Plan>();
      rkernel::Launch launch;
      launch.function = sum_parts;
      launch.tickets = parts;
      launch.merge = merge_parts;
      launch.merge_tickets = 9;
      launch.threads = threads;
      launch.ints = {parts};
      plan->launches.push_back(launch);
      plan->shared_bytes = static_cast<std::size_t>(parts + 1) * 8;
      plan->threads = threads;
      Caller caller(size + 9);
      CHECK(caller.run(pool, wiring, plan) == -1);
      const std::int64_t sum = size * (size + 1) / 2;
      for (std::size_t j = 0; j < 9; ++j)
        CHECK(caller.output[j] == sum + 7 * static_cast<std::int64_t>(j) * parts);
    }
  }
}

TEST_CASE("many threads run at once, with shapes that change") {
  const Wiring wiring = chain_wiring();
  RunPool pool(3);
  std::vector<PlanPtr> plans;
  for (const std::int64_t size : {5, 40, 300}) plans.push_back(chain_plan(wiring, size, 4, 3));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int i = 0; i < 200; ++i) {
        const PlanPtr& plan = plans[random() % plans.size()];
        Caller caller(plan->launches[0].tickets);
        if (caller.run(pool, wiring, plan) != -1 || caller.output != expected(caller.input))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a status stops the run and names its group") {
  const Wiring wiring = chain_wiring();
  RunPool pool(2);
  Caller caller(50);
  CHECK(caller.run(pool, wiring, chain_plan(wiring, 50, 4, 2, 6)) == 6);
  CHECK(caller.run(pool, wiring, chain_plan(wiring, 50, 4, 2)) == -1);
  CHECK(caller.output == expected(caller.input));
}

TEST_CASE("a steady run allocates nothing") {
  const Wiring wiring = chain_wiring();
  for (const int threads : {1, 2, 4}) {
    RunPool pool(threads);
    const PlanPtr plan = chain_plan(wiring, 1000, 16, threads);
    Caller caller(1000);
    for (int i = 0; i < 20; ++i) caller.run(pool, wiring, plan);
    const std::int64_t before = testing::allocations_of_this_thread();
    for (int i = 0; i < 500; ++i) caller.run(pool, wiring, plan);
    CHECK(testing::allocations_of_this_thread() == before);
  }
}

TEST_CASE("memory is as large as the largest shape, and one arena for each run in flight") {
  const Wiring wiring = chain_wiring();
  RunPool pool(1);
  Caller large(200'000);
  large.run(pool, wiring, chain_plan(wiring, 200'000, 1000, 1));
  const std::size_t bytes = pool.bytes();
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    Caller caller(static_cast<std::int64_t>(random() % 2000));
    caller.run(pool, wiring,
               chain_plan(wiring, static_cast<std::int64_t>(caller.input.size()), 100, 1));
  }
  CHECK(pool.bytes() == bytes);
}

TEST_CASE("helpers help, and the caller waits for what they have taken") {
  if (std::thread::hardware_concurrency() < 2) return;
  static std::thread::id caller;
  caller = std::this_thread::get_id();
  // The helper takes long, so that it is still at work when the caller finds no ticket left.
  const auto slow = [](const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                       void*) {
    const bool helps = std::this_thread::get_id() != caller;
    std::this_thread::sleep_for(std::chrono::milliseconds(helps ? 20 : 1));
    for (std::int64_t i = first; i < first + count; ++i)
      static_cast<std::int64_t*>(args->pointers[0])[i] = helps ? 2 : 1;
  };
  auto plan = std::make_shared<Plan>();
  plan->threads = 2;
  rkernel::Launch launch;
  launch.function = slow;
  launch.tickets = 50;
  launch.threads = 2;
  plan->launches.push_back(launch);
  Wiring wiring;
  wiring.first_operand = {0, 1};
  wiring.operands = {{OperandSource::Kind::Output, 0, nullptr}};
  RunPool pool(2);
  std::int64_t helped = 0;
  // On a busy machine the helper's thread may get no processor for a while.
  for (int i = 0; i < 5 || (helped == 0 && i < 400); ++i) {
    std::vector<std::int64_t> done(50);
    const PortMemory out[] = {{done.data(), {}}};
    Run* run = pool.take(nullptr);
    run->bind(plan, wiring);
    run->set_ports({}, out, {});
    run->execute(pool.helpers(), {});
    CHECK(std::count(done.begin(), done.end(), 0) == 0);
    helped += std::count(done.begin(), done.end(), 2);
    pool.give_back(run);
  }
  CHECK(helped > 0);
}
