// Helpers of the process, with stages that are plain functions.

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "doctest/doctest.h"
#include "src/runtime/run/helpers.hpp"
#include "src/runtime/system/parallel_for.hpp"
#include "src/runtime/system/processor.hpp"
#include "src/runtime/system/spin.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t tickets = 40;

/// Counts each ticket once, and in scratch which participants ran.
struct Tally {
  std::array<std::atomic<int>, tickets> done{};
  std::array<std::atomic<int>, 64> participants{};
};

void count_tickets(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
                   void* scratch) {
  auto* tally = static_cast<Tally*>(args->pointers[0]);
  for (std::int64_t i = first; i < first + count; ++i) ++tally->done[static_cast<std::size_t>(i)];
  ++*static_cast<std::atomic<int>*>(scratch);
  const auto end = std::chrono::steady_clock::now() + 20us;
  while (std::chrono::steady_clock::now() < end) {}
}

/// One run of `stages` stages; returns how many tickets were not done exactly once.
int run_stages(Helpers& helpers, Team*& team, int threads, int stages) {
  Helpers::InFlight in_flight(helpers, threads, team);
  int wrong = 0;
  for (int stage = 0; stage < stages; ++stage) {
    Tally tally;
    std::array<void*, 1> pointers{&tally};
    std::atomic<std::int32_t> status{0};
    const rkernel::KernelArgs args{pointers.data(), nullptr, &status};
    in_flight.run(
        {count_tickets, &args, tickets, 1, reinterpret_cast<std::byte*>(tally.participants.data()),
         sizeof(std::atomic<int>)},
        threads);
    int by_participants = 0;
    for (std::size_t p = 0; p < tally.participants.size(); ++p) {
      if (p >= static_cast<std::size_t>(threads)) wrong += tally.participants[p];
      by_participants += tally.participants[p];
    }
    wrong += by_participants != tickets;
    for (const std::atomic<int>& done : tally.done) wrong += done != 1;
  }
  return wrong;
}

/// True where no helper is left soon. Helpers leave when they found no work for spin_limit; on a
/// busy machine that takes longer.
bool all_leave(const Helpers& helpers) {
  for (int i = 0; i < 10'000 && helpers.present() > 0; ++i) std::this_thread::sleep_for(1ms);
  return helpers.present() == 0;
}

}  // namespace

TEST_CASE("all graphs share one set of helpers") {
  const auto first = Helpers::of_process(2);
  CHECK(Helpers::of_process(3) == first);
}

TEST_CASE(
    "helpers of one run serve the next one, of whatever graph, on its own number of threads") {
  const auto helpers = Helpers::of_process(8);
  Team *one = nullptr, *other = nullptr;
  for (const int threads : {2, 5, 3, 8, 2}) {
    CAPTURE(threads);
    CHECK(run_stages(*helpers, one, threads, 20) == 0);
    CHECK(run_stages(*helpers, other, threads + 1, 20) == 0);
  }
  CHECK(one == other);  // never two runs at once
  CHECK(all_leave(*helpers));
}

TEST_CASE("a thread leaves the processor that it should avoid, and may still run on all") {
  cpu_set_t before, after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  const int avoided = current_processor();
  leave_processor(avoided);
  if (CPU_COUNT(&before) > 1) CHECK(current_processor() != avoided);
  leave_processor(unknown_processor);
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("callers that fill the processors run without helpers") {
  const auto helpers = Helpers::of_process(2);
  constexpr int callers = 6;
  std::atomic<int> wrong{0}, ready{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i) {
      threads.emplace_back([&] {
        Team* team = nullptr;
        ++ready;
        while (ready < callers) std::this_thread::yield();
        for (int run = 0; run < 20; ++run) wrong += run_stages(*helpers, team, 3, 5);
      });
    }
  }
  CHECK(wrong == 0);
  CHECK(all_leave(*helpers));
  CHECK(helpers->teams() <= callers + 1);
}

TEST_CASE("traffic admits helpers where processors are left, and dismisses them for callers") {
  Traffic traffic(4);
  traffic.begin_run(3);
  CHECK(traffic.admit(8));
  CHECK(traffic.admit(8));
  CHECK(!traffic.admit(8));  // the run wants no more
  traffic.begin_run(3);
  CHECK(!traffic.admit(8));  // two callers and two helpers
  CHECK(!traffic.crowded());
  CHECK(!traffic.dismiss());
  traffic.begin_run(1);
  CHECK(traffic.crowded());
  CHECK(traffic.dismiss());
  CHECK(!traffic.dismiss());
  CHECK(traffic.helpers() == 1);
  traffic.end_run(1);
  CHECK(traffic.admit(8));
  traffic.leave();
  CHECK(!traffic.admit(1));  // as many as there may be
  traffic.allow(2);          // fewer than are known
  CHECK(traffic.admit(8));
  CHECK(!traffic.admit(8));
  traffic.allow(6);
  CHECK(traffic.admit(8));
}

TEST_CASE("a gap between the runs of many callers brings no helper") {
  Traffic traffic(2);
  traffic.begin_run(2);
  traffic.begin_run(2);
  traffic.end_run(2);
  CHECK(!traffic.admit(8));
  std::this_thread::sleep_for(5ms);
  CHECK(traffic.admit(8));
}

TEST_CASE("helpers that still look are gone with the last graph") {
  for (int i = 0; i < 1000; ++i) {
    const auto helpers = Helpers::of_process(2);
    Team* team = nullptr;
    CHECK(run_stages(*helpers, team, 2, 1) == 0);
    CHECK(helpers->teams() == 1);
  }
}
