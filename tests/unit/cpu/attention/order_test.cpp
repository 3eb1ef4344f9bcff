// A row of a batch has the bits of that row alone: the order of attention's sums depends on nothing
// else than that row's sizes.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/attention/fixture.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::choice::AttentionShape;
using dyn::choice::AttentionStrategy;
using dyn::choice::Machine;
using dyn::cpu::testing::AttentionCase;
using dyn::cpu::testing::MaskKind;

namespace {

std::uint64_t attention_order_seed() { return dyn::testing::test_seed(20261122); }

/// The round machine with figures that are wrong by up to a factor of about 4, as those of a busy
/// machine may be.
Machine disturbed_machine(std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, 0.5);
  const auto disturb = [&](double& figure) { figure *= std::exp(normal(random)); };
  Machine machine = dyn::testing::round_machine();
  for (double* figure : {&machine.seconds_per_vector_operation, &machine.seconds_per_call,
                         &machine.seconds_per_ticket, &machine.seconds_per_wakeup}) {
    disturb(*figure);
  }
  for (auto& level : machine.levels) {
    for (double& bandwidth : level.bandwidth) disturb(bandwidth);
  }
  for (auto& tile : machine.tiles) disturb(tile.seconds_per_k);
  return machine;
}

AttentionShape random_shape(std::mt19937_64& random) {
  const auto up_to = [&](std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  AttentionShape shape{.queries = up_to(random() % 2 == 0 ? 12 : 1024),
                       .keys = up_to(random() % 2 == 0 ? 300 : 5000)};
  shape.depth = up_to(130), shape.value_depth = up_to(130);
  shape.causal = random() % 2 == 0, shape.masked = random() % 2 == 0,
  shape.keys_unit = random() % 4 != 0;
  shape.fixed_order = random() % 4 == 0;
  return shape;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

}  // namespace

TEST_CASE("the order of attention's sums depends neither on the batch nor on what was measured") {
  std::mt19937_64 random(attention_order_seed());
  for (int i = 0; i < 2000; ++i) {
    AttentionShape shape = random_shape(random);
    const int threads = 1 + static_cast<int>(random() % 8);
    shape.batch = 1 + static_cast<std::int64_t>(random() % 3);
    const AttentionStrategy alone =
        select_attention(disturbed_machine(random), shape, threads).strategy;
    shape.batch *= 1 + static_cast<std::int64_t>(random() % 16);
    const AttentionStrategy among =
        select_attention(disturbed_machine(random), shape, threads).strategy;
    INFO(to_string(alone));
    INFO(to_string(among));
    CAPTURE(shape.queries);
    CAPTURE(shape.keys);
    REQUIRE((alone.form == among.form && alone.block_keys == among.block_keys &&
             alone.splits == among.splits));
  }
}

TEST_CASE("strategies of the same order give the same bits") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  std::mt19937_64 random(attention_order_seed());
  int compared = 0;
  for (const auto& [queries, keys] :
       {std::pair{5, 73}, std::pair{9, 1030}, std::pair{77, 600}, std::pair{200, 1100}}) {
    for (const bool causal : {false, true}) {
      AttentionCase c{.heads = 2,
                      .queries = queries,
                      .keys = keys,
                      .depth = 72,
                      .value_depth = 40,
                      .causal = causal,
                      .mask = MaskKind::ByKey};
      const std::uint64_t data = random();
      std::vector<AttentionStrategy> strategies;
      const auto first = [&](const AttentionShape& shape) {
        const Machine machine = testing::context_for(isa, *store)->machine();
        const AttentionStrategy order = attention_order(machine, shape, 2);
        for_each_attention_strategy(
            machine, shape, order, 2,
            [&](const AttentionStrategy& strategy) { strategies.push_back(strategy); });
        return strategies.front();
      };
      const std::vector<float> expected = attention_output(c, isa, *store, data, first);
      for (const AttentionStrategy& strategy : strategies) {
        INFO(describe(c));
        INFO(to_string(strategy));
        CHECK(same_bits(
            attention_output(c, isa, *store, data, [&](const AttentionShape&) { return strategy; }),
            expected));
        ++compared;
      }
    }
  }
  CHECK(compared > 16);
}
