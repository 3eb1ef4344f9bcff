// Stages of runs that may end early: which tickets run, and in what pieces. No case depends on how
// fast the machine is: tickets that take long wait until the clock says so.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "doctest/doctest.h"
#include "src/runtime/run/run_pool.hpp"

using namespace dyn;
using namespace dyn::runtime;

namespace {

/// A stage that records its calls.
struct Watched {
  struct Piece {
    std::int64_t first, count;
  };
  std::vector<Piece> pieces;  ///< in the order of the calls; of one thread
  std::function<void(std::int64_t first, std::int64_t count)> work = [](auto, auto) {};
  std::atomic<std::int32_t> status{0};
  void* pointer = this;
  rkernel::KernelArgs args{&pointer, nullptr, &status};

  static void call(const rkernel::KernelArgs* args, std::int64_t first, std::int64_t count, void*) {
    auto& watched = *static_cast<Watched*>(args->pointers[0]);
    watched.pieces.push_back({first, count});
    watched.work(first, count);
  }
  Stage stage(std::int64_t tickets, std::int64_t grain, const Pieces* pieces_of_stage) const {
    return {call, &args, tickets, grain, nullptr, 0, pieces_of_stage};
  }
  std::int64_t tickets() const {
    std::int64_t sum = 0;
    for (const Piece& piece : pieces) sum += piece.count;
    return sum;
  }
  bool has_ended() const { return status == static_cast<std::int32_t>(status_ended); }
};

/// As long as three pieces.
void take_long() {
  const Clock::time_point start = Clock::now();
  while (seconds_since(start) < 3 * Pieces::piece_seconds) {}
}

struct Ended {
  Cancellation cancellation;
  RunOptions options{.cancellation = cancellation};
  RunControl control{options};
};

}  // namespace

TEST_CASE("tickets that take long are pieces, and none begins once the run is cancelled") {
  const Ended ended;
  const Pieces pieces(ended.control, 0);
  Watched watched;
  watched.work = [&](std::int64_t first, std::int64_t) {
    take_long();
    if (first == 5) ended.cancellation.cancel();
  };
  watched.stage(1000, 1000, &pieces).run_tickets(0, 1000, nullptr);
  CHECK(watched.tickets() == 6);
  CHECK(watched.pieces.size() == 6);
  CHECK(watched.has_ended());
}

TEST_CASE("a deadline that passes while tickets run leaves the others out") {
  RunOptions options;
  const RunControl control(options);
  CHECK(!control.may_end());
  const Pieces pieces(control, 0);
  Watched watched;
  watched.work = [&](std::int64_t first, std::int64_t) {
    take_long();
    if (first == 3) options.deadline = Clock::now();
  };
  watched.stage(1000, 1000, &pieces).run_tickets(0, 1000, nullptr);
  CHECK(control.may_end());
  CHECK(watched.tickets() == 4);
  CHECK(watched.has_ended());
}

TEST_CASE("short tickets come in large pieces") {
  const Ended ended;
  for (const double predicted : {0.0, 1e-9, 1.0}) {
    const Pieces pieces(ended.control, predicted);
    Watched watched;
    const std::int64_t tickets = 1'000'000;
    watched.stage(tickets, tickets, &pieces).run_tickets(7, tickets, nullptr);
    CHECK(watched.tickets() == tickets);
    CHECK(watched.pieces.size() < 2000);
    std::int64_t next = 7;
    for (const Watched::Piece& piece : watched.pieces) {
      CHECK(piece.first == next);
      next += piece.count;
    }
    CHECK(watched.status == 0);
    CHECK(watched.pieces.front().count == (predicted == 1e-9 ? 100'000 : 1));
  }
}

TEST_CASE("pieces that take too long become smaller") {
  const Ended ended;
  const Pieces pieces(ended.control, Pieces::piece_seconds / 64);
  Watched watched;
  watched.work = [&](std::int64_t, std::int64_t) { take_long(); };
  watched.stage(200, 200, &pieces).run_tickets(0, 200, nullptr);
  REQUIRE(watched.pieces.size() > 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(watched.pieces[i].count == 64 >> i);
  CHECK(watched.pieces.back().count == 1);
  CHECK(watched.tickets() == 200);
}

TEST_CASE("a stage that failed runs no piece more, and says what it failed for") {
  const Ended ended;
  const Pieces pieces(ended.control, 0);
  Watched watched;
  watched.work = [&](std::int64_t first, std::int64_t) {
    take_long();
    if (first == 2) watched.status = static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange);
  };
  watched.stage(9, 9, &pieces).run_tickets(0, 9, nullptr);
  CHECK(watched.tickets() == 3);
  CHECK(watched.status == static_cast<std::int32_t>(rkernel::Status::IndexOutOfRange));
}

TEST_CASE(
    "the chunks of a stage that has ended are taken and left out, and the next stage is whole") {
  const Ended ended;
  const Pieces pieces(ended.control, 0);
  TicketQueue queue(3);
  Watched watched;
  watched.work = [&](std::int64_t first, std::int64_t) {
    if (first != 0) return;
    take_long();
    CHECK(queue.take(1));  // a helper has begun when the end comes
    queue.report(1);
    ended.cancellation.cancel();
    CHECK(queue.take(2));
    queue.report(1);
  };
  CHECK(queue.run(watched.stage(30, 2, &pieces), 3, Traffic(64)));
  CHECK(watched.tickets() == 3);
  CHECK(watched.has_ended());
  watched.status = 0;
  watched.pieces.clear();
  watched.work = [](auto, auto) {};
  CHECK(!queue.run(watched.stage(30, 2, nullptr), 3, Traffic(64)));
  CHECK(watched.tickets() == 30);
}

namespace {

/// A run of groups whose stages are all Watched::call, on one thread.
struct WatchedRun {
  explicit WatchedRun(std::vector<rkernel::Launch> launches) {
    wiring.first_operand.push_back(0);
    for (rkernel::Launch& launch : launches) {
      wiring.operands.push_back({OperandSource::Kind::Input, 0, nullptr});
      wiring.first_operand.push_back(wiring.operands.size());
      plan->launches.push_back(std::move(launch));
    }
  }
  int run(const RunControl* control, RunProfile* profile = nullptr) {
    Run* const run = pool.take(nullptr);
    run->bind(plan, wiring);
    const PortMemory in[] = {{&watched, {}}};
    run->set_ports(in, {}, {});
    const int failed = run->execute(pool.helpers(), {.profile = profile, .control = control});
    status = run->status();
    pool.give_back(run);
    return failed;
  }

  std::shared_ptr<Plan> plan = std::make_shared<Plan>();
  Wiring wiring;
  RunPool pool{1};
  Watched watched;
  rkernel::Status status = rkernel::Status::Ok;
};

rkernel::Launch launch_of(std::int64_t tickets, std::int64_t merge_tickets = 0) {
  rkernel::Launch launch;
  launch.function = Watched::call;
  launch.tickets = launch.grain = tickets;
  if (merge_tickets > 0) launch.merge = Watched::call;
  launch.merge_tickets = launch.merge_grain = merge_tickets;
  return launch;
}

}  // namespace

TEST_CASE("a run that is ended names the group that it had come to") {
  WatchedRun run({launch_of(2), launch_of(0), launch_of(50), launch_of(3)});
  const Ended ended;
  run.watched.work = [&](std::int64_t, std::int64_t) {
    take_long();
    if (run.watched.tickets() == 10) ended.cancellation.cancel();
  };
  CHECK(run.run(&ended.control) == 2);
  CHECK(run.status == status_ended);
  CHECK(run.watched.tickets() == 10);
  CHECK(run.run(&ended.control) == 0);  // it stays cancelled
  CHECK(run.watched.tickets() == 10);
  CHECK(run.run(nullptr) == -1);
  CHECK(run.status == rkernel::Status::Ok);
  CHECK(run.watched.tickets() == 65);
}

TEST_CASE("a run that nobody ends is whole, and one that is over cannot be ended") {
  WatchedRun run({launch_of(2, 3)});
  const Ended ended;
  run.watched.work = [&](std::int64_t, std::int64_t) {
    if (run.watched.tickets() == 5) ended.cancellation.cancel();
  };
  CHECK(run.run(&ended.control) == -1);
  CHECK(run.watched.tickets() == 5);
}

TEST_CASE("a second stage, whose tickets may wait for each other, is left out or whole") {
  for (const std::int64_t end_at : {2, 4}) {
    CAPTURE(end_at);
    WatchedRun run({launch_of(2, 7), launch_of(1)});
    const Ended ended;
    run.watched.work = [&](std::int64_t, std::int64_t) {
      take_long();
      if (run.watched.tickets() >= end_at) ended.cancellation.cancel();
    };
    CHECK(run.run(&ended.control) == (end_at > 2 ? 1 : 0));
    CHECK(run.watched.tickets() == (end_at > 2 ? 9 : 2));
    CHECK(run.status == status_ended);
  }
}
