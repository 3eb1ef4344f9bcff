#include <doctest/doctest.h>

#include <limits>

#include "tests/support/seed.hpp"
#include "tests/unit/cpu/attention/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::choice::AttentionShape;
using dyn::choice::AttentionStrategy;
using dyn::choice::ScoreForm;
using dyn::cpu::testing::AttentionCase;
using dyn::cpu::testing::MaskKind;
using dyn::cpu::testing::run_attention;

namespace {

std::uint64_t attention_seed() { return dyn::testing::test_seed(20261121); }

std::int64_t pick(std::mt19937_64& random, const std::vector<std::int64_t>& from) {
  return from[random() % from.size()];
}

AttentionCase random_attention_case(std::mt19937_64& random) {
  AttentionCase c{.batch = pick(random, {1, 1, 2, 3, 0}), .heads = pick(random, {1, 2, 5})};
  c.queries = pick(random, {0, 1, 1, 2, 3, 7, 13, 14, 15, 29, 31, 64, 97});
  c.keys = pick(random, {0, 1, 2, 5, 15, 16, 17, 31, 33, 64, 127, 130, 257, 300});
  c.depth = pick(random, {1, 3, 8, 16, 17, 31, 40, 64, 80});
  c.value_depth = pick(random, {1, 5, 16, 17, 32, 33, 40, 64, 80, 129});
  c.causal = random() % 2 == 0 && c.keys >= c.queries;
  c.by_token = random() % 2 == 0;
  c.keys_shared = random() % 3 == 0;
  c.k_transposed = random() % 4 == 0;
  c.v_transposed = random() % 4 == 0;
  c.mask = static_cast<MaskKind>(random() % 5);
  c.hidden = random() % 2 == 0 ? 0.3 : random() % 3 == 0 ? 1 : 0;
  c.scale = random() % 3 == 0 ? 0.7 : 0;
  c.magnitude = random() % 4 == 0 ? 40 : 1;
  return c;
}

/// Any strategy, chosen or not.
AttentionStrategy random_strategy(std::mt19937_64& random, const Isa& isa,
                                  const AttentionShape& shape) {
  AttentionStrategy strategy;
  strategy.form = shape.keys_unit && random() % 2 == 0 ? ScoreForm::Dots : ScoreForm::Panels;
  std::vector<Tile> tiles = main_loop_tiles(isa);
  std::erase_if(tiles, [&](const Tile& tile) { return tile.columns < isa.panel_f32; });
  const Tile tile = tiles[random() % tiles.size()];
  strategy.tile_rows = tile.rows;
  strategy.tile_columns = tile.columns;
  strategy.block_rows = 1 + static_cast<std::int64_t>(random() % 70);
  strategy.block_keys = 1 + static_cast<std::int64_t>(random() % 200);
  strategy.splits = 1 + static_cast<std::int64_t>(random() % 5);
  return strategy;
}

void check_attention(int cases) {
  for (const Isa& isa : all_isas()) {
    if (!cpu_has(isa)) continue;
    CAPTURE(isa.name);
    const auto store = CodeStore::open(isa, {});
    std::mt19937_64 random(attention_seed());
    for (int i = 0; i < cases; ++i) {
      const AttentionCase c = random_attention_case(random);
      AttentionStrategy used;
      const auto choose = [&](const AttentionShape& shape) {
        return used = random_strategy(random, isa, shape);
      };
      const bool forced = i % 4 != 0;
      const double error = forced ? run_attention(c, isa, *store, random, choose)
                                  : run_attention(c, isa, *store, random);
      INFO(describe(c));
      INFO((forced ? to_string(used) : std::string("its own choice")));
      REQUIRE(error <= 1);
    }
  }
}

}  // namespace

TEST_CASE(
    "attention of many sizes, layouts, masks and strategies equals plain loops on every ISA of "
    "this CPU") {
  check_attention(dyn::testing::test_rounds(20));
}

TEST_SUITE("full") {
  TEST_CASE(
      "attention of all sizes, layouts, masks and strategies equals plain loops on every ISA of "
      "this CPU") {
    check_attention(dyn::testing::test_rounds(300, 8));
  }
}

TEST_CASE("scores that are NaN or infinite stay in their row") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  std::mt19937_64 random(attention_seed());
  constexpr float infinity = std::numeric_limits<float>::infinity();
  AttentionCase c{
      .queries = 40, .keys = 140, .depth = 24, .value_depth = 40, .mask = MaskKind::ByKey};
  for (const std::int64_t splits : {1, 3}) {
    const auto choose = [&](const AttentionShape&) {
      return AttentionStrategy{.tile_rows = 4,
                               .tile_columns = isa.panel_f32,
                               .block_rows = 16,
                               .block_keys = 64,
                               .splits = splits};
    };
    const auto one_query = [&](std::vector<float>* inputs) {
      inputs[0][5 * 24 + 3] = std::numeric_limits<float>::quiet_NaN();
      inputs[0][7 * 24 + 3] = infinity;
    };
    CHECK(run_attention(c, isa, *store, random, choose, one_query) <= 1);
    const auto masked = [&](std::vector<float>* inputs) {
      inputs[3][0] = inputs[3][70] = inputs[3][139] = -infinity;
    };
    CHECK(run_attention(c, isa, *store, random, choose, masked) <= 1);
  }
}
