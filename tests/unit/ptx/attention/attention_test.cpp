// Fused attention in the emulator, of all tiles, forms and sizes, against plain loops in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/attention/attention_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuAttentionTile;

namespace {

constexpr BlockOrder orders_of_parts[] = {{BlockOrder::Kind::Descending, 0},
                                          {BlockOrder::Kind::Shuffled, 1}};

/// Runs the case in two grids and, where blocks share rows, in several orders of blocks: all must
/// give the same bits.
double check(const AttentionCase& c, std::mt19937_64& random) {
  INFO(to_string(c));
  const BuiltAttention built(c);
  const Contents contents = random_operands(built, random);
  const std::vector<std::uint8_t> output = run_attention(built, contents, c.blocks);
  const double error = worst_attention_error(built, contents, output);
  REQUIRE(error <= 1);
  REQUIRE(run_attention(built, contents, c.blocks + 1) == output);
  if (c.parts.count == 1) return error;
  for (const BlockOrder& order : orders_of_parts) {
    attention_device().emulator().set_block_order(order);
    const bool same = run_attention(built, contents, static_cast<int>(built.tickets())) == output;
    attention_device().emulator().set_block_order({});
    REQUIRE(same);
  }
  return error;
}

std::vector<GpuAttentionTile> tiles_of(DType operands, bool tf32, int depth, int width) {
  return choice::gpu_attention_tiles(described_gpu("a100"), operands, tf32, depth, width);
}

struct Precision {
  DType operands;
  bool tf32;
};
constexpr Precision precisions_of_attention[] = {
    {DType::f32, false}, {DType::f32, true}, {DType::bf16, false}, {DType::f16, false}};

double sweep(const Precision& precision, int depth, int width, std::mt19937_64& random,
             int rounds) {
  double worst = 0;
  for (const GpuAttentionTile& tile : tiles_of(precision.operands, precision.tf32, depth, width)) {
    for (int round = 0; round < rounds; ++round) {
      const DType stored = random() % 3 == 0 ? DType::f32 : precision.operands;
      worst = std::max(worst, check(random_attention_case(tile, stored, random), random));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("attention on the emulator: all tiles, forms and sizes against plain loops in double") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const int rounds = dyn::testing::test_rounds(16, 16);
  for (const Precision& precision : precisions_of_attention) {
    const double worst = sweep(precision, 64, 64, random, rounds);
    std::printf("note: attention in %s%s: largest error %.3f of its bound\n",
                precision.tf32 ? "tf32 from " : "",
                std::string(name_of(precision.operands)).c_str(), worst);
  }
}

TEST_CASE("attention on the emulator: blocks with parts of the keys merge them in their order") {
  std::mt19937_64 random(dyn::testing::test_seed());
  constexpr std::pair<bool, std::int64_t> cases[] = {
      {true, 2}, {true, 5}, {false, 2}, {false, 5}, {false, 17}};
  dyn::testing::Sweep every(std::size(cases));
  for (const Precision& precision : precisions_of_attention) {
    for (const GpuAttentionTile& tile : tiles_of(precision.operands, precision.tf32, 32, 32)) {
      const std::int64_t keys = tile.block_keys();
      // Under a causal mask no row of the first tiles sees the last part.
      for (const auto& [causal, parts] : cases) {
        if (!every.takes()) continue;
        AttentionCase c;
        c.tile = tile;
        c.dtype = precision.operands;
        c.causal = c.hides_rows = causal;
        c.mask = causal ? MaskForm::Full : MaskForm::None;
        c.m = causal ? keys + tile.block_m + 3 : 1 + static_cast<std::int64_t>(random() % 3);
        c.n = c.d = 24;
        c.keys = parts * keys - static_cast<std::int64_t>(random() % 7);
        c.bias = true;
        c.shares_rows = true;
        c.parts = {parts, 1};
        check(c, random);
      }
    }
  }
}

TEST_CASE("attention on the emulator: heads of other sizes") {
  std::mt19937_64 random(dyn::testing::test_seed());
  dyn::testing::Sweep every(6);
  constexpr std::pair<int, int> heads[] = {{32, 32},   {32, 96},  {96, 96},
                                           {128, 128}, {192, 64}, {256, 256}};
  for (const auto& [depth, width] : heads) {
    for (const Precision& precision : precisions_of_attention) {
      if (every.takes()) sweep(precision, depth, width, random, 1);
    }
  }
}

TEST_CASE("attention on the emulator: small heads, few queries, and rows that see nothing") {
  std::mt19937_64 random(dyn::testing::test_seed());
  dyn::testing::Sweep every(3);
  for (const Precision& precision : precisions_of_attention) {
    for (const GpuAttentionTile& tile : tiles_of(precision.operands, precision.tf32, 64, 64)) {
      for (const std::int64_t head : {1, 3, 8, 40}) {
        for (const std::int64_t keys : {0, 1, 5, tile.block_keys() + 1}) {
          if (!every.takes()) continue;
          AttentionCase c;
          c.tile = tile;
          c.dtype = precision.operands;
          c.m = 1 + static_cast<std::int64_t>(random() % 9);
          c.n = c.d = head;
          c.keys = keys;
          c.group = 2;
          c.causal = true;
          c.mask = MaskForm::Rows;
          c.hides_rows = true;
          check(c, random);
        }
      }
    }
  }
}

TEST_CASE("attention on the emulator: as the target plans it") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const int rounds = dyn::testing::test_rounds(40, 10);
  constexpr std::int64_t queries[] = {1, 1, 3, 17, 70};
  for (const Precision& precision : precisions_of_attention) {
    const GpuAttentionTile tile = tiles_of(precision.operands, precision.tf32, 64, 64).front();
    for (int round = 0; round < rounds / 4 + 1; ++round) {
      AttentionCase c = random_attention_case(tile, precision.operands, random);
      c.fixed_heads = true;
      c.m = queries[random() % std::size(queries)];
      INFO(to_string(c));
      const BuiltAttention built(c);
      const Contents contents = random_operands(built, random);
      const PlannedRun planned = run_planned(built, contents, described_gpu("a100"));
      CHECK(worst_attention_error(built, contents, planned.output) <= 1);
    }
  }
}

TEST_CASE("attention on the emulator: several queries of heads that share keys, behind a cache") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  dyn::testing::Sweep every(12);
  for (const Precision& precision : precisions_of_attention) {
    for (const GpuAttentionTile& tile : tiles_of(precision.operands, precision.tf32, 32, 32)) {
      for (int round = 0; round < 12; ++round) {
        if (!every.takes()) continue;
        AttentionCase c;
        c.tile = tile;
        c.dtype = precision.operands;
        c.heads_as_rows = c.bias = c.residual = true;
        c.shared_outside = round % 4 == 3;
        (c.shared_outside ? c.group : c.batch) = 1 + below(2);
        (c.shared_outside ? c.batch : c.group) = 1 + below(8);
        c.m = 1 + below(40);
        c.keys = c.m + 2 * below(90) + 1;
        c.n = 1 + below(40);
        c.d = 1 + below(32);
        c.causal = round % 3 != 0;
        c.mask = round % 2 == 0 ? MaskForm::Full : MaskForm::None;
        c.heads_inside = below(2) == 0;
        if (below(3) == 0) part_keys(c, random);
        check(c, random);
      }
    }
  }
}

TEST_CASE("attention on the emulator: heads that share keys read them together, as planned") {
  std::mt19937_64 random(dyn::testing::test_seed());
  dyn::testing::Sweep every(3);
  for (const Precision& precision : precisions_of_attention) {
    for (const std::int64_t queries : {1, 3, 9}) {
      if (!every.takes()) continue;
      AttentionCase c;
      c.tile = tiles_of(precision.operands, precision.tf32, 64, 64).front();
      c.dtype = precision.operands;
      c.fixed_heads = c.causal = c.hides_rows = c.bias = c.residual = true;
      c.mask = MaskForm::Full;
      c.batch = 3;
      c.group = 5;
      c.m = queries;
      c.n = 40;
      c.d = 64;
      c.keys = 131;
      INFO(to_string(c));
      const BuiltAttention built(c);
      const Contents contents = random_operands(built, random);
      const PlannedRun planned = run_planned(built, contents, described_gpu("a100"));
      CHECK(worst_attention_error(built, contents, planned.output) <= 1);
      // The first tile has the fewest rows.
      CHECK(planned.launch.tickets <=
            c.batch * ((queries * c.group + c.tile.block_m - 1) / c.tile.block_m));
    }
  }
}
