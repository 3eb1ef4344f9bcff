// The work of attention's kernels, counted by the emulator.

#include <doctest/doctest.h>

#include <array>

#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/attention/attention_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuAttentionTile;

namespace {

/// One block of a tile that exists as a whole, and three tiles of keys.
AttentionCase whole_block(const GpuAttentionTile& tile) {
  AttentionCase c;
  c.tile = tile;
  c.q = c.k = c.v = Copy::Vectors;
  c.dtype = tile.operands;
  c.m = tile.block_m;
  c.n = tile.width;
  c.d = tile.depth;
  c.keys = 3 * std::int64_t{tile.block_keys()};
  c.shares_rows = true;
  c.blocks = 1;
  return c;
}

KernelCounters counters_of_attention(const AttentionCase& c) {
  std::mt19937_64 random(dyn::testing::test_seed(1));
  const BuiltAttention built(c);
  const Contents contents = random_operands(built, random);
  Emulator& emulator = attention_device().emulator();
  emulator.take_counters();
  emulator.set_counting(true);
  run_attention(built, contents, c.blocks);
  emulator.set_counting(false);
  const std::vector<KernelCounters> all = emulator.take_counters();
  REQUIRE(all.size() == 1);
  return all.front();
}

/// Instructions of warps that both products need.
std::int64_t needed_products(const AttentionCase& c, InstructionClass& kind) {
  const std::int64_t multiply_adds = c.m * c.keys * (c.d + c.n);
  if (c.tile.engine == choice::Engine::CudaCores) {
    kind = InstructionClass::Fma;
    return multiply_adds / choice::warp_lanes;
  }
  const bool half = size_of(c.tile.operands) == 2;
  kind = half ? InstructionClass::Mma : InstructionClass::MmaTf32;
  return multiply_adds / (16 * 8 * (half ? 16 : 8));
}

void check_counters(const GpuAttentionTile& tile) {
  const AttentionCase c = whole_block(tile);
  INFO(tile.to_string());
  const KernelCounters counters = counters_of_attention(c);
  CHECK(counters.main_loop_shared.excess() == 1);
  InstructionClass kind{};
  const std::int64_t needed = needed_products(c, kind);
  CHECK(counters.main_loop[kind] >= needed);
  // Fused multiply-adds are in the exponentials as well.
  if (kind != InstructionClass::Fma) CHECK(counters.main_loop[kind] == needed);
  // Queries, keys and values are read once, in whole sectors.
  for (std::size_t operand = 0; operand < 3; ++operand) {
    const Traffic& traffic = counters.operands.at(operand).traffic;
    CHECK(traffic.excess() <= 1.1);
    CHECK(traffic.units == counters.operands.at(operand).touched);
  }
}

}  // namespace

TEST_CASE("heads of attention that are rows of one tile read their keys once, others each") {
  for (const GpuAttentionTile& tile :
       choice::gpu_attention_tiles(described_gpu("a100"), DType::bf16, false, 64, 64)) {
    INFO(tile.to_string());
    AttentionCase c = whole_block(tile);
    c.group = 4;
    c.m = tile.block_m / c.group;
    c.causal = true;
    c.mask = MaskForm::Full;
    const auto sectors = [&](bool heads_as_rows) {
      c.heads_as_rows = heads_as_rows;
      const KernelCounters counters = counters_of_attention(c);
      std::array<std::int64_t, 3> units{};
      for (std::size_t operand = 0; operand < units.size(); ++operand)
        units.at(operand) = counters.operands.at(operand).traffic.units;
      return units;
    };
    const auto together = sectors(true), apart = sectors(false);
    CHECK(together[0] == apart[0]);
    CHECK(apart[1] == c.group * together[1]);
    CHECK(apart[2] == c.group * together[2]);
    CHECK(together[1] * 32 == c.keys * c.d * 2);
    CHECK(together[2] * 32 == c.keys * c.n * 2);
  }
}

TEST_CASE("attention of all tiles meets no bank twice, and reads keys and values once") {
  dyn::testing::Sweep sweep(4);
  struct Precision {
    DType operands;
    bool tf32;
  };
  for (const auto& [operands, tf32] :
       {Precision{DType::bf16, false}, Precision{DType::f32, true}, Precision{DType::f32, false}}) {
    for (const int room : {32, 64, 96, 128, 192, 256}) {
      for (const GpuAttentionTile& tile :
           choice::gpu_attention_tiles(described_gpu("a100"), operands, tf32, room, room)) {
        if (sweep.takes()) check_counters(tile);
      }
    }
  }
}
