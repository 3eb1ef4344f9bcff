// Who takes which chunk of a stage, with a helper that is the caller's own thread: all is in order.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "src/runtime/run/tickets.hpp"

using namespace dyn;
using namespace dyn::runtime;

namespace {

struct Taken {
  std::int64_t first, count;
  std::ptrdiff_t thread;
};

/// A stage whose first chunk, while it runs, is helped by thread `helper` with `helped` chunks.
struct Recorded {
  explicit Recorded(int threads) : queue(threads) {}

  TicketQueue queue;
  int helper = 1, helped = 0;
  std::vector<Taken> taken;  ///< the first of them
  std::int64_t tickets = 0;  ///< of all
  std::byte scratch[64];
};

void record(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count,
            void* scratch) {
  auto& recorded = *static_cast<Recorded*>(args->pointers[0]);
  if (recorded.taken.size() < 100)
    recorded.taken.push_back({first, count, static_cast<std::byte*>(scratch) - recorded.scratch});
  recorded.tickets += count;
  if (first != 0) return;
  for (int i = 0; i < recorded.helped; ++i) {
    CHECK(recorded.queue.has_work(recorded.helper));
    CHECK(recorded.queue.take(recorded.helper));
    recorded.queue.report(1);
  }
}

bool run(Recorded& recorded, std::int64_t tickets, std::int64_t grain, int threads) {
  void* pointer = &recorded;
  std::atomic<std::int32_t> status{0};
  const rkernel::KernelArgs args{&pointer, nullptr, &status};
  recorded.taken.clear();
  recorded.tickets = 0;
  return recorded.queue.run({record, &args, tickets, grain, recorded.scratch, 1}, threads,
                            Traffic(64));
}

}  // namespace

TEST_CASE("a helper takes its own share, then the next ones, each from its start") {
  Recorded recorded(3);
  recorded.helped = 6;
  for (int again = 0; again < 2; ++again) {  // the same from run to run
    CHECK(run(recorded, 24, 2, 3));
    const std::vector<Taken>& taken = recorded.taken;
    REQUIRE(taken.size() == 12);
    CHECK(taken[0].first == 0);
    const std::int64_t expected[]{8, 10, 12, 14, 16, 18};  // share 1, then share 2
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(taken[i + 1].first == expected[i]);
      CHECK(taken[i + 1].thread == 1);
    }
    const std::int64_t left[]{2, 4, 6, 20, 22};
    for (std::size_t i = 0; i < 5; ++i) {
      CHECK(taken[i + 7].first == left[i]);
      CHECK(taken[i + 7].thread == 0);
    }
    CHECK(recorded.tickets == 24);
  }
}

TEST_CASE("a caller whom nobody helps does all shares, in order") {
  Recorded recorded(4);
  for (const std::int64_t tickets : {1, 3, 4, 5, 17}) {
    CHECK_FALSE(run(recorded, tickets, 1, 4));
    CHECK(recorded.tickets == tickets);
    CHECK(std::ranges::is_sorted(recorded.taken, {}, &Taken::first));
    for (int thread = 1; thread < 4; ++thread) CHECK_FALSE(recorded.queue.has_work(thread));
  }
}

TEST_CASE("threads beyond a stage's number have no part in it, even of others' shares") {
  Recorded recorded(4);
  recorded.helped = 1;
  CHECK(run(recorded, 10, 1, 2));
  CHECK(recorded.taken[1].first == 5);
  recorded.helped = 0;
  CHECK_FALSE(run(recorded, 10, 1, 2));
  CHECK_FALSE(recorded.queue.take(2));
}

TEST_CASE("more tickets than a share can count are done in larger chunks") {
  Recorded recorded(2);
  recorded.helped = 2;
  const std::int64_t tickets = (std::int64_t{1} << 26) + 5;
  CHECK(run(recorded, tickets, 1, 2));
  CHECK(recorded.tickets == tickets);
}
