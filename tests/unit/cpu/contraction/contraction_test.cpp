#include <doctest/doctest.h>

#include "tests/support/seed.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::cpu::testing::Case;
using dyn::cpu::testing::run_case;
using dyn::testing::test_rounds;

namespace {

std::uint64_t contraction_seed() { return dyn::testing::test_seed(20250817); }

std::string describe(const Case& c) {
  return "batch " + std::to_string(c.batch) + " M " + std::to_string(c.m) + " N " +
         std::to_string(c.n) + " K " + std::to_string(c.k) +
         (c.transpose_a ? " A transposed" : "") + (c.transpose_b ? " B transposed" : "") +
         (c.packed ? " packed" : " fresh") + " weights " + std::string(name_of(c.weights)) +
         (c.bias ? " bias" : "") + (c.relu ? " relu" : "") + (c.residual ? " residual" : "") +
         " slack " + std::to_string(c.a_slack);
}

enum class Sizes { Small, All };

Case random_case(std::mt19937_64& random) {
  const std::vector<std::int64_t> sizes{0,  1,  2,  3,  5,  7,  8,  13, 14, 15,  16,  17,
                                        29, 31, 32, 33, 53, 63, 64, 65, 97, 127, 130, 200};
  const auto pick = [&] { return sizes[random() % sizes.size()]; };
  Case c{.batch = static_cast<std::int64_t>(random() % 4), .m = pick(), .n = pick(), .k = pick()};
  if (random() % 3 != 0) c.batch = 1;
  c.transpose_a = random() % 4 == 0;
  c.transpose_b = random() % 2 == 0;
  c.packed = random() % 2 == 0;
  c.bias = random() % 2 == 0;
  c.residual = random() % 2 == 0;
  c.relu = random() % 2 == 0;
  c.long_epilogue = random() % 4 == 0;
  c.a_slack = random() % 3 == 0 ? static_cast<std::int64_t>(random() % 9) : 0;
  return c;
}

void check_narrow_weights(int cases, Sizes sizes) {
  MESSAGE("seed " << contraction_seed());
  dyn::testing::Sweep sweep(5);
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(contraction_seed() + 1);
    for (const dyn::DType weights : testing::weight_dtypes(isa)) {
      for (int i = 0; i < cases; ++i) {
        Case c = random_case(random);
        c.packed = true;
        c.weights = weights;
        if (random() % 4 == 0)
          c.n = 1 + static_cast<std::int64_t>(random() % 16);  // lanes along M and K
        INFO(describe(c));
        REQUIRE(run_case(c, isa, *store, random, 1 + static_cast<int>(random() % 2), 4) <= 1);
      }
      if (sizes == Sizes::Small) continue;
      for (Case c :
           {Case{.m = 530, .n = 770, .k = 1100}, Case{.m = 1, .n = 2304, .k = 768, .bias = true},
            Case{.m = 300, .n = 3, .k = 500}, Case{.m = 300, .n = 12, .k = 1500},
            Case{.m = 20, .n = 40, .k = 5000}}) {
        if (!sweep.takes()) continue;
        c.weights = weights;
        INFO(describe(c));
        REQUIRE(run_case(c, isa, *store, random, 2, 6) <= 1);
      }
    }
  }
}

void check_contractions(int cases, Sizes sizes) {
  dyn::testing::Sweep sweep(5);
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(contraction_seed());
    for (int i = 0; i < cases; ++i) {
      const Case c = random_case(random);
      const double error = run_case(c, isa, *store, random, 1 + static_cast<int>(random() % 2), 4);
      INFO(describe(c));
      REQUIRE(error <= 1);
    }
    if (sizes == Sizes::Small) continue;
    for (const Case& c :
         {Case{.m = 530, .n = 770, .k = 1100}, Case{.m = 1, .n = 2304, .k = 768, .bias = true},
          Case{.m = 300, .n = 3, .k = 500},
          Case{.batch = 3, .m = 128, .n = 128, .k = 64, .transpose_b = true, .packed = false},
          Case{.m = 20, .n = 40, .k = 5000}}) {
      if (!sweep.takes()) continue;
      INFO(describe(c));
      REQUIRE(run_case(c, isa, *store, random, 2, 3) <= 1);
    }
  }
}

}  // namespace

TEST_CASE("contractions of many sizes and forms equal plain loops on every ISA of this CPU") {
  check_contractions(test_rounds(80, 2), Sizes::Small);
}

TEST_CASE("tiles keep apart between blocks of K, however many panels run by themselves") {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(contraction_seed());
    const std::int64_t panel = isa.panel_f32;
    // Cut panels, in blocks of one panel less than others, beside wide tiles; B as it lies or
    // packed, with lanes along N and M.
    for (const Case& c :
         {Case{.m = 2, .n = 15 * panel, .k = 1100},
          Case{.m = 2, .n = 15 * panel - 3, .k = 1100, .packed = false},
          Case{.m = 3, .n = panel + 1, .k = 1031, .packed = false},
          Case{.m = panel + 1, .n = 2, .k = 1031, .transpose_a = true, .packed = false},
          Case{.m = 7 * panel + 1, .n = 3, .k = 1031, .transpose_a = true, .packed = false}}) {
      INFO(describe(c));
      int ran = 0;
      const auto in_blocks = [&](const dyn::choice::Choice& choice) {
        return choice.program.regions.front().strategy.block_k < c.k && ++ran > 0;
      };
      CHECK(testing::run_choices(c, isa, *store, random, 2, in_blocks) <= 1);
      CHECK(ran > 0);
    }
  }
}

TEST_CASE(
    "contractions with narrow weights equal plain loops over the rounded weights on every ISA of "
    "this CPU") {
  check_narrow_weights(test_rounds(30, 2), Sizes::Small);
}

TEST_SUITE("full") {
  TEST_CASE(
      "contractions with narrow weights of all sizes equal plain loops over the rounded weights on "
      "every ISA of this CPU") {
    check_narrow_weights(test_rounds(100, 8), Sizes::All);
  }
  TEST_CASE("contractions of all sizes and forms equal plain loops on every ISA of this CPU") {
    check_contractions(test_rounds(400, 8), Sizes::All);
  }
}
