#include <doctest/doctest.h>

#include <algorithm>

#include "src/choice/cost/program_cost.hpp"
#include "src/rkernel/tree/regions.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::cpu::testing::Case;

namespace {

std::uint64_t regions_seed() { return dyn::testing::test_seed(20261121); }

// Programs of all patterns on the shapes of both suites of this file.
void check_programs(int cases, int programs) {
  MESSAGE("seed " << regions_seed());
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = dyn::codegen::CodeStore::open(isa, {});
    std::mt19937_64 random(regions_seed());
    for (int i = 0; i < cases; ++i) {
      const auto size = [&](std::uint64_t most) {
        return 1 + static_cast<std::int64_t>(random() % most);
      };
      Case c{.batch = random() % 4 == 0 ? size(3) : 1,
             .m = size(random() % 3 == 0 ? 12 : 150),
             .n = size(random() % 3 == 0 ? 12 : 200),
             .k = size(90)};
      c.packed = random() % 2 == 0;
      c.transpose_a = random() % 4 == 0;
      c.transpose_b = !c.packed && random() % 3 == 0;
      c.bias = random() % 2 == 0;
      c.residual = random() % 2 == 0;
      CAPTURE(c.batch);
      CAPTURE(c.m);
      CAPTURE(c.n);
      CAPTURE(c.k);
      REQUIRE(dyn::cpu::testing::run_programs(c, isa, *store, random, 2, programs) <= 1);
    }
  }
}

}  // namespace

TEST_CASE("the regions of every pattern cover each element of the output once") {
  std::mt19937_64 random(regions_seed());
  for (const Pattern pattern : all_patterns) {
    CAPTURE(name_of(pattern));
    for (int i = 0; i < 200; ++i) {
      const auto m = static_cast<std::int64_t>(random() % 12),
                 n = static_cast<std::int64_t>(random() % 12);
      const auto below = [&](std::int64_t limit) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit + 1));
      };
      Cuts cuts{below(m), below(n), 0};
      cuts.second_m = cuts.m + below(m - cuts.m);
      std::vector<int> hits(static_cast<std::size_t>(m * n), 0);
      const std::vector<Region> regions = cover(pattern, m, n, cuts);
      REQUIRE_FALSE(regions.empty());
      for (const Region& region : regions) {
        for (std::int64_t row = region.m0; row < region.m0 + region.m; ++row) {
          for (std::int64_t column = region.n0; column < region.n0 + region.n; ++column)
            ++hits.at(static_cast<std::size_t>(row * n + column));
        }
      }
      CHECK(std::ranges::count(hits, 1) == m * n);
    }
  }
  CHECK(cover(Pattern::VIII, 9, 9, {4, 5, 0}).size() == 4);
  CHECK(cover(Pattern::IX, 9, 9, {3, 0, 6}).size() == 3);
  CHECK(cover(Pattern::IV, 9, 9, {9, 5, 0}).size() == 1);
}

TEST_CASE("threads that take the next ticket as soon as they can end when the last one does") {
  CHECK(makespan(std::vector<TicketCost>{{2, 3}}, 1) == doctest::Approx(6));
  CHECK(makespan(std::vector<TicketCost>{{2, 3}}, 2) == doctest::Approx(4));
  // Two tickets of 3 s and one of 3 s on two threads; small tickets fill up the rest.
  CHECK(makespan(std::vector<TicketCost>{{3, 3}, {1, 3}}, 2) == doctest::Approx(6));
  CHECK(makespan(std::vector<TicketCost>{{3, 3}, {1, 4}}, 2) == doctest::Approx(7));
  CHECK(makespan(std::vector<TicketCost>{{1, 0}}, 4) == doctest::Approx(0));
}

TEST_CASE(
    "a program of several regions costs what its tickets do, and of one region what the region "
    "costs") {
  const Machine machine = dyn::testing::round_machine();
  const ContractionShape shape{.m = 60, .n = 256, .k = 512, .a_level = 1, .b_level = 1};
  Strategy strategy{
      .tile_rows = 6, .tile_columns = 32, .block_m = 30, .block_n = 128, .block_k = 512};
  Program one{{{0, 60, 0, 256, strategy}}};
  CHECK(program_cost(machine, shape, one, 1) ==
        dyn::testing::relative(contraction_cost(machine, shape, strategy, 1)));
  // Halves cost as much as the whole on one thread, and half of it on two.
  Program two{cover(Pattern::II, 60, 256, {30, 0, 0})};
  for (Region& region : two.regions) region.strategy = strategy;
  const double halves = program_cost(machine, shape, two, 1);
  CHECK(halves ==
        dyn::testing::relative(contraction_cost(machine, shape, strategy, 1)).epsilon(0.05));
  CHECK(program_cost(machine, shape, two, 2) < 0.75 * halves);
}

TEST_CASE("programs of every pattern with random cuts and strategies equal plain loops") {
  check_programs(8, 1);
}

TEST_SUITE("full") {
  TEST_CASE("many programs of every pattern with random cuts and strategies equal plain loops") {
    check_programs(dyn::testing::test_rounds(60, 4), 3);
  }
}
