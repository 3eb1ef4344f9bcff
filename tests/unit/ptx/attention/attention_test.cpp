// Fused attention in the emulator, of all tiles, forms and sizes, against plain loops in double.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "src/base/rounding.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/attention/attention_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuAttentionTile;

namespace {

/// Runs the case in two grids, which must give the same bits.
double check(const AttentionCase& c, std::mt19937_64& random) {
  INFO(to_string(c));
  const BuiltAttention built(c);
  const Contents contents = random_operands(built, random);
  const std::vector<std::uint8_t> output = run_attention(built, contents, c.blocks);
  const double error = worst_attention_error(built, contents, output);
  REQUIRE(error <= 1);
  REQUIRE(run_attention(built, contents, c.blocks + 1) == output);
  return error;
}

std::vector<GpuAttentionTile> tiles_of(DType operands, bool tf32, int depth, int width) {
  return choice::gpu_attention_tiles(described_gpu("a100"), operands, tf32, depth, width);
}

/// Slack and offset that allow vector copies, or odd ones.
void place_operands(AttentionCase& c, bool vectors, std::mt19937_64& random) {
  c.slack = static_cast<std::int64_t>(random() % 4);
  c.offset = static_cast<std::int64_t>(random() % 5);
  if (!vectors) return;
  const auto elements = static_cast<std::int64_t>(16 / size_of(c.dtype));
  c.d = ceil_div(c.d, elements) * elements;
  c.n = ceil_div(c.n, elements) * elements;
  c.slack = static_cast<std::int64_t>(random() % 2) * elements;
  c.offset = static_cast<std::int64_t>(random() % 3) * elements;
  c.transposed_keys = false;
  c.q = c.k = c.v = Copy::Vectors;
}

/// A case around the sizes of its tile.
AttentionCase random_case(const GpuAttentionTile& tile, DType dtype, std::mt19937_64& random) {
  const auto around = [&](int size) {
    const std::int64_t sizes[] = {1, 2, size - 1, size, size + 1, 37, 70};
    return std::min<std::int64_t>(sizes[random() % std::size(sizes)], 132);
  };
  const auto chance = [&](unsigned of) { return random() % of == 0; };
  AttentionCase c;
  c.tile = tile;
  c.dtype = dtype;
  c.m = around(tile.block_m);
  c.keys = chance(12) ? 0 : around(tile.block_keys());
  const auto width = static_cast<std::uint64_t>(tile.width),
             depth = static_cast<std::uint64_t>(tile.depth);
  c.n = chance(2) ? tile.width : static_cast<std::int64_t>(1 + random() % (width + width / 4));
  c.d = chance(2) ? tile.depth : static_cast<std::int64_t>(1 + random() % depth);
  c.batch = static_cast<std::int64_t>(1 + random() % 2);
  c.group = static_cast<std::int64_t>(1 + random() % 3);
  c.causal = chance(2);
  constexpr MaskForm masks[] = {MaskForm::None, MaskForm::None, MaskForm::Keys, MaskForm::Rows,
                                MaskForm::Full};
  c.mask = masks[random() % std::size(masks)];
  c.hides_rows = c.mask != MaskForm::None && chance(2);
  c.mask_dtype = chance(3) ? dtype : DType::f32;
  c.scale = chance(3) ? 0.9 : 0;
  c.heads_inside = chance(2);
  c.transposed_keys = chance(4);
  c.bias = chance(2);
  c.residual = chance(3);
  c.output = chance(3) ? dtype : DType::f32;
  c.blocks = static_cast<int>(1 + random() % 3);
  place_operands(c, dtype == tile.operands && chance(2), random);
  return c;
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
      worst = std::max(worst, check(random_case(tile, stored, random), random));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("attention on the emulator: all tiles, forms and sizes against plain loops in double") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const int rounds = dyn::testing::test_rounds(16, 8);
  for (const Precision& precision : precisions_of_attention) {
    const double worst = sweep(precision, 64, 64, random, rounds);
    std::printf("note: attention in %s%s: largest error %.3f of its bound\n",
                precision.tf32 ? "tf32 from " : "",
                std::string(name_of(precision.operands)).c_str(), worst);
  }
}

TEST_CASE("attention on the emulator: heads of other sizes") {
  std::mt19937_64 random(dyn::testing::test_seed());
  dyn::testing::Sweep every(3);
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
