// Programs of several regions where threads would idle.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <queue>

#include "src/choice/cost/program_cost.hpp"
#include "src/choice/cpu/cover_select.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;

namespace {

std::uint64_t cover_seed() { return dyn::testing::test_seed(20261126); }

// The best of one region on all threads.
Choice best_of_one(const Machine& machine, const ContractionShape& shape) {
  Choice best;
  for_each_choice(machine, make_candidates(machine), shape, machine.threads,
                  [&](const Choice& choice) {
                    if (choice.threads == machine.threads &&
                        (best.program.regions.empty() || choice.seconds < best.seconds))
                      best = choice;
                  });
  return best;
}

void check_covers(const Program& program, const Machine& machine, const ContractionShape& shape) {
  std::int64_t outputs = 0;
  for (const Region& region : program.regions) {
    CHECK(region.m0 >= 0);
    CHECK(region.n0 % machine.panel == 0);
    CHECK(region.m0 + region.m <= shape.m);
    CHECK(region.n0 + region.n <= shape.n);
    CHECK(region.m * region.n > 0);
    outputs += region.m * region.n;
    for (const Region& other : program.regions) {
      const bool apart = region.m0 >= other.m0 + other.m || other.m0 >= region.m0 + region.m ||
                         region.n0 >= other.n0 + other.n || other.n0 >= region.n0 + region.n;
      CHECK((apart || &region == &other));
    }
  }
  CHECK(outputs == shape.m * shape.n);
}

ContractionShape random_dense(std::mt19937_64& random) {
  const auto size = [&](double most) {
    return std::llround(std::exp(std::uniform_real_distribution(0.0, std::log(most))(random)));
  };
  return {.m = size(2000), .n = size(3000), .k = size(4000), .a_level = 2, .b_level = 2};
}

struct Gains {
  double found = 0, all = 0;  ///< logarithms of speed-ups, summed
  int shapes = 0;
};

// The gain of select_cover over one region, and that of the search over all covers.
Gains gains_of(const Machine& machine, int shapes) {
  std::mt19937_64 random(cover_seed());
  Gains gains;
  for (; gains.shapes < shapes; ++gains.shapes) {
    const ContractionShape shape = random_dense(random);
    const Choice one = best_of_one(machine, shape);
    double best = one.seconds;
    for_each_cover(machine, make_candidates(machine), shape, machine.threads, 1,
                   [&](const Choice& choice) { best = std::min(best, choice.seconds); });
    const auto cover = select_cover(machine, shape, one);
    gains.all += std::log(one.seconds / best);
    gains.found += cover ? std::log(one.seconds / cover->seconds) : 0;
  }
  return gains;
}

void check_gains(int shapes, double least_share) {
  constexpr int threads = 16;
  const Gains gains = gains_of(dyn::testing::round_machine(threads), shapes);
  const auto percent = [&](double sum) { return 100 * (std::exp(sum / gains.shapes) - 1); };
  MESSAGE(fmt::format(
      "{} shapes on {} threads: covers gain {:.2f} %, all covers {:.2f} %, a share of {:.2f}",
      shapes, threads, percent(gains.found), percent(gains.all), gains.found / gains.all));
  CHECK(gains.found >= least_share * gains.all);
}

// The thread that is done first takes the next ticket, one by one.
double simulated(const std::vector<TicketCost>& groups, int threads) {
  std::priority_queue<double, std::vector<double>, std::greater<>> done;
  for (int thread = 0; thread < threads; ++thread) done.push(0);
  double last = 0;
  for (const TicketCost& group : groups) {
    for (std::int64_t ticket = 0; ticket < group.tickets; ++ticket) {
      const double end = done.top() + group.seconds;
      done.pop();
      done.push(end);
      last = std::max(last, end);
    }
  }
  return last;
}

}  // namespace

TEST_CASE("a team of threads is done when a simulation of them is") {
  std::mt19937_64 random(cover_seed());
  for (int i = 0; i < 20000; ++i) {
    const int threads = 1 + static_cast<int>(random() % 20);
    std::vector<TicketCost> groups;
    for (std::uint64_t group = 0; group < 1 + random() % 5; ++group) {
      // Whole numbers, so that sums are exact and threads are often done at the same time.
      groups.push_back({static_cast<double>(random() % 12),
                        static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 200 : 8))});
    }
    Team team(threads);
    std::vector<TicketCost> taken;
    for (const TicketCost& group : groups) {
      team.take(group);
      taken.push_back(group);
      REQUIRE(team.last() == simulated(taken, threads));
    }
    REQUIRE(makespan(groups, threads) == simulated(groups, threads));
  }
}

TEST_CASE("covers are whole, cost what their tickets do, and pay") {
  std::mt19937_64 random(cover_seed());
  int covered = 0;
  for (int i = 0; i < 3000; ++i) {
    const Machine machine = dyn::testing::random_machine(
        random, std::array{2, 3, 8, 16}.at(static_cast<std::size_t>(i) % 4));
    ContractionShape shape = dyn::testing::random_contraction(random, machine);
    INFO("lanes " << static_cast<int>(shape.lanes) << " batch " << shape.batch << " m " << shape.m
                  << " n " << shape.n << " k " << shape.k << " threads " << machine.threads);
    const Choice one = best_of_one(machine, shape);
    const auto cover = select_cover(machine, shape, one);
    if (!cover) continue;
    ++covered;
    check_covers(cover->program, machine, shape);
    CHECK(cover->program.regions.size() > 1);
    CHECK(cover->threads == one.threads);
    CHECK(cover->seconds ==
          dyn::testing::relative(program_cost(machine, shape, cover->program, cover->threads) +
                                 machine.seconds_per_wakeup)
              .epsilon(1e-9));
    CHECK(cover->seconds < 0.98 * one.seconds);
    CHECK(shape.lanes != LaneAxis::K);
    for (const Region& region : cover->program.regions) CHECK(region.strategy.split_k == 1);
    Choice alone = one;
    alone.threads = 1;
    CHECK_FALSE(select_cover(machine, shape, alone).has_value());
  }
  CHECK(covered > 20);
}

// They reach 0.3 to 0.5 of the gain that all covers have on 16 threads; few shapes spread more.
TEST_CASE("covers that are chosen quickly gain a share of what all covers do") {
  check_gains(40, 0.1);
}

TEST_SUITE("full") {
  TEST_CASE("covers that are chosen quickly gain a share of what all covers do on 200 shapes") {
    check_gains(200, 0.2);
  }
}
