// Every program that any policy may run computes the same.

#include <doctest/doctest.h>

#include <array>

#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/contraction/policy_context.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::cpu::testing::Case;
using dyn::rkernel::Policy;

namespace {

constexpr std::array policies{Policy::Dyn,        Policy::Vortex,   Policy::MikPoly, Policy::FTuner,
                              Policy::TSCompiler, Policy::DietCode, Policy::Oracle};

std::uint64_t programs_seed() { return dyn::testing::test_seed(20261123); }

// Empty, single, primes, and sizes about tiles, vectors, panels and the depths of blocks; few
// columns, so that lanes run along M and K.
Case random_case_about_tiles(std::mt19937_64& random, const Isa& isa) {
  const auto pick = [&](const std::vector<std::int64_t>& from) {
    return from[random() % from.size()];
  };
  const auto chance = [&](std::uint64_t one_in) { return random() % one_in == 0; };
  const std::vector<std::int64_t> sizes{0,  1,  2,  3,  5,  6,  7,  8,  11, 13,  14,  15,  16, 17,
                                        29, 31, 32, 33, 47, 63, 64, 65, 97, 113, 127, 129, 190};
  Case c{.batch = 1, .m = pick(sizes), .n = pick(sizes), .k = pick(sizes)};
  if (chance(4)) c.batch = static_cast<std::int64_t>(random() % 4);
  if (chance(3)) c.n = 1 + static_cast<std::int64_t>(random() % 17);
  if (chance(5)) c.k = pick({511, 512, 513, 700, 1031});
  c.packed = chance(2);
  c.transpose_a = chance(4);
  c.transpose_b = chance(3);
  c.bias = chance(2);
  c.residual = chance(2);
  c.relu = chance(2);
  c.a_slack = chance(3) ? static_cast<std::int64_t>(random() % 9) : 0;
  const std::vector<dyn::DType> narrow = testing::weight_dtypes(isa);
  if (c.packed && !narrow.empty() && chance(3)) c.weights = narrow[random() % narrow.size()];
  return c;
}

void check_programs(const std::vector<int>& all_threads, int cases, std::size_t most) {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(programs_seed());
    for (const int threads : all_threads) {
      const auto context = testing::policy_context(isa, *store, {.threads = threads});
      std::map<Policy, std::size_t> ran;
      for (int i = 0; i < cases; ++i) {
        const Case c = random_case_about_tiles(random, isa);
        for (const Policy policy : policies) {
          INFO(isa.name << ", " << threads << " threads, " << name_of(policy) << ": " << words(c));
          REQUIRE(testing::run_candidates(c, context, *store, random, threads, policy, most,
                                          &ran[policy]) <= 1);
        }
      }
      for (const Policy policy : policies) {
        CAPTURE(name_of(policy));
        CHECK(ran[policy] > 0);
      }
    }
  }
}

// Outputs with every number of columns beyond the last whole vector, for each dtype of weights,
// packed and fresh either way: all choices whose lanes run along K there.
void check_dots_of_rest(int every, int share, std::size_t& ran) {
  dyn::testing::Sweep sweep(share);
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(programs_seed() + 1);
    std::vector<dyn::DType> dtypes = testing::weight_dtypes(isa);
    dtypes.push_back(dyn::DType::f32);
    int number = 0;
    for (const std::int64_t whole : {1, 2, 4, 5, 7}) {
      for (std::int64_t rest = 1; rest < isa.f32_lanes; ++rest) {
        for (const std::int64_t k : {0, 1, 5, 16, 31, 100, 768, 1029, 2048}) {
          if (++number % every != 0 || !sweep.takes()) continue;
          Case c{.m = 1 + static_cast<std::int64_t>(random() % 100),
                 .n = whole * isa.f32_lanes + rest,
                 .k = k};
          if (random() % 5 == 0) c.batch = 2;
          c.fixed_rows = true;
          c.packed = random() % 2 == 0;
          c.transpose_a = random() % 4 == 0;
          c.transpose_b = random() % 2 == 0;
          c.bias = random() % 2 == 0;
          c.residual = random() % 2 == 0;
          c.relu = random() % 2 == 0;
          c.a_slack = random() % 3 == 0 ? 3 : 0;
          if (c.packed) c.weights = dtypes[random() % dtypes.size()];
          INFO(isa.name << ": " << words(c));
          const auto has_dots = [&](const dyn::choice::Choice& choice) {
            const bool has = choice.program.regions.front().strategy.dot_rest;
            ran += has ? 1 : 0;
            return has;
          };
          REQUIRE(testing::run_choices(c, isa, *store, random, 1 + static_cast<int>(random() % 3),
                                       has_dots) <= 1);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("dots of the columns of no whole vector equal plain loops") {
  std::size_t ran = 0;
  check_dots_of_rest(61, 1, ran);
  CHECK(ran > 100);
}

TEST_CASE("programs of every policy equal plain loops") { check_programs({2}, 4, 6); }

TEST_SUITE("full") {
  TEST_CASE(
      "dots of the columns of no whole vector equal plain loops, of every policy's problems: all "
      "widths and depths") {
    std::size_t ran = 0;
    constexpr int share = 6;
    check_dots_of_rest(1, share, ran);
    CHECK(ran > (dyn::testing::full_sweeps() ? 10000 : 10000 / (2 * share)));
  }

  TEST_CASE("all programs of every policy equal plain loops for many problems") {
    check_programs({1, 2, 3}, dyn::testing::test_rounds(60, 4), 1 << 20);
  }
}
