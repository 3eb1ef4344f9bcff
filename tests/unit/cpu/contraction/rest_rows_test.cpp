// Columns beyond the last whole vector of constant weights: packed as rows at load, and always
// dots.

#include <doctest/doctest.h>

#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cpu/unused_lanes.hpp"
#include "targets/cpu/move/pack.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::cpu::testing::Case;

namespace {

std::uint64_t rest_rows_seed() { return dyn::testing::test_seed(20261125); }

void for_random_cases(
    int count,
    const std::function<void(const Case&, const Isa&, CodeStore&, std::mt19937_64&)>& check) {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(rest_rows_seed());
    const auto chance = [&](std::uint64_t one_in) { return random() % one_in == 0; };
    for (int left = count; left > 0;) {
      const std::int64_t k = 64 + static_cast<std::int64_t>(random() % (chance(3) ? 3000 : 500));
      Case c{.batch = chance(5) ? 2 : 1,
             .m = 1 + static_cast<std::int64_t>(random() % 60),
             .n = isa.f32_lanes + static_cast<std::int64_t>(random() % 200),
             .k = k};
      if (packed_rows(isa, c.weights, c.k, c.n) == 0) continue;
      c.fixed_weights = true;
      c.fixed_rows = chance(2);
      c.transpose_b = chance(2);
      c.bias = chance(2);
      c.relu = chance(2);
      c.residual = chance(2);
      c.a_slack = chance(3) ? 3 : 0;
      INFO(isa.name << ": " << words(c));
      check(c, isa, *store, random);
      --left;
    }
  }
}

void check_loops(int cases, std::size_t most) {
  std::size_t ran = 0;
  for_random_cases(cases,
                   [&](const Case& c, const Isa& isa, CodeStore& store, std::mt19937_64& random) {
                     const int threads = 1 + static_cast<int>(random() % 3);
                     const auto wanted = [&](const dyn::choice::Choice&) {
                       const bool runs = random() % 100 < most;
                       ran += runs ? 1 : 0;
                       return runs;
                     };
                     REQUIRE(testing::run_choices(c, isa, store, random, threads, wanted) <= 1);
                     REQUIRE(testing::run_case(c, isa, store, random, threads, 0) <= 1);
                   });
  CHECK(ran > static_cast<std::size_t>(cases));
}

}  // namespace

TEST_CASE("dots of packed rows equal plain loops") { check_loops(12, 10); }

TEST_CASE(
    "with dots of packed rows a row has the bits of the row alone, whatever the blocks of rows, "
    "columns and K") {
  std::size_t ran = 0;
  for_random_cases(10,
                   [&](const Case& c, const Isa& isa, CodeStore& store, std::mt19937_64& random) {
                     Case one_batch = c;
                     one_batch.batch = 1;
                     CHECK(testing::same_bits(one_batch, isa, store, random,
                                              1 + static_cast<int>(random() % 3), 12, ran));
                   });
  CHECK(ran > 100);
}

TEST_CASE(
    "with dots of packed rows no lane of columns is unused, and of K those of a slice's last "
    "vector") {
  std::mt19937_64 random(rest_rows_seed());
  using namespace dyn::choice;
  using namespace dyn::rkernel;
  int counted = 0;
  for (int i = 0; i < 2000; ++i) {
    const Machine machine = dyn::testing::random_machine(random, 2);
    const std::int64_t n = 1 + static_cast<std::int64_t>(random() % 500),
                       k = 1 + static_cast<std::int64_t>(random() % 2000),
                       m = 1 + static_cast<std::int64_t>(random() % 90);
    if (packed_rest(machine.vector_width, machine.panel, n, k) == 0) continue;
    ContractionShape shape{.m = m, .n = n, .k = k};
    shape.rest_as_rows = true;
    const Choice choice = select(machine, make_candidates(machine), shape, 2);
    const dyn::rkernel::UnusedLanes unused = unused_lanes(machine, shape, choice.program);
    CAPTURE(n);
    CAPTURE(k);
    CHECK(unused.n == 0);
    const std::int64_t slices = choice.program.regions.front().strategy.split_k,
                       width = machine.vector_width;
    std::int64_t computed = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice)
      computed += ((k * (slice + 1)) / slices - (k * slice) / slices) / width * width + width;
    const double rest = static_cast<double>(n % width),
                 beyond = rest * static_cast<double>(computed - k);
    CHECK(unused.k ==
          doctest::Approx(beyond / (static_cast<double>(n * k) + beyond)).epsilon(1e-12));
    ++counted;
  }
  CHECK(counted > 300);
}

TEST_SUITE("full") {
  TEST_CASE("dots of packed rows equal plain loops: many problems, all strategies") {
    check_loops(dyn::testing::test_rounds(150, 6), 100);
  }
}
