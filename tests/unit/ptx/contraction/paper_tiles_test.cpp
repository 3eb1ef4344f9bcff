// Tiles that are no candidates in the emulator, against plain loops in double: those of the papers'
// policies, and dyn's late ones.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <array>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "src/choice/gpu/late_tiles.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/gpu/gpu_paper.hpp"
#include "src/choice/policies/gpu/paper_spaces.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/contraction/matmul_run.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using choice::GpuTile;
using rkernel::Policy;

namespace {

constexpr Policy tile_makers[] = {Policy::Vortex, Policy::MikPoly, Policy::FTuner,
                                  Policy::TSCompiler, Policy::DietCode};
/// Blocks that are computed element by element in a moment.
constexpr int most_outputs = 64 * 64, most_depth = 128;
/// Beyond GpuTile::registers(), whose figures were fitted to dyn's candidates.
constexpr int most_more_registers = 48;
/// Of a thread, where a paper's tile has as many sums as registers can hold. A paper takes no
/// account of what the assembler does then; dyn's own tiles spill nothing.
constexpr int most_spilled = 256;

class Papers {
 public:
  explicit Papers(DType dtype)
      : spaces_(described_gpu("a100"),
                choice::kinds_of(choice::gpu_tiles(described_gpu("a100"), dtype, false))) {}

  /// The tiles for a product with such sizes that FTuner has odd factors.
  std::vector<GpuTile> tiles(Policy policy) const {
    return spaces_.tiles(policy, {1, 53, 120, 100},
                         [](const GpuTile&) { return choice::GpuContraction{}; });
  }

 private:
  choice::GpuPaperSpaces spaces_;
};

std::vector<GpuTile> late_tiles(DType dtype) {
  const choice::GpuMachine machine = described_gpu("a100");
  return *choice::late_gpu_tiles(machine, choice::gpu_tiles(machine, dtype, false));
}

std::vector<GpuTile> small_ones(std::vector<GpuTile> tiles) {
  std::erase_if(tiles, [](const GpuTile& tile) {
    return tile.block_m * tile.block_n > most_outputs || tile.block_k > most_depth;
  });
  return tiles;
}

MatmulCase paper_case(const GpuTile& tile, Copy copy) {
  MatmulCase c;
  c.tile = tile;
  c.a_copy = c.b_copy = copy;
  if (copy == Copy::Vectors) c.a = c.b = tile.operands;
  c.residual = c.in_place = true;
  return c;
}

/// Rows begin at multiples of 16 bytes where copies are vectors.
void run_at_random(MatmulCase c, std::mt19937_64& random) {
  const EmulatedMatmul matmul(emulator(), c);
  const auto below = [&](int most) {
    return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  c.m = below(2 * c.tile.block_m);
  c.n = below(2 * c.tile.block_n);
  c.k = below(3 * c.tile.block_k);
  c.blocks = static_cast<int>(below(3));
  const auto slack = [](std::int64_t inner, DType dtype) {
    const auto elements = static_cast<std::int64_t>(16 / size_of(dtype));
    return (elements - inner % elements) % elements;
  };
  c.a_slack = c.a_copy == Copy::Vectors ? slack(c.k, c.a) : 1;
  c.b_slack = c.b_copy == Copy::Vectors ? slack(c.n, c.b) : 3;
  const std::vector<Bytes> buffers = random_buffers(c, random);
  INFO(to_string(c));
  const Bytes output = matmul.run(c, buffers);
  for (const FaultReport& report : emulator().take_reports()) FAIL_CHECK(to_string(report));
  CHECK(worst_error(c, buffers, output) <= 1);
}

void check_some(const std::vector<GpuTile>& tiles, int rounds, std::mt19937_64& random) {
  for (int round = 0; !tiles.empty() && round < rounds; ++round) {
    const GpuTile& tile = tiles[random() % tiles.size()];
    run_at_random(paper_case(tile, round % 2 == 0 ? Copy::Vectors : Copy::Elements), random);
  }
}

void check_policy(Policy policy, int rounds, std::mt19937_64& random) {
  CAPTURE(name_of(policy));
  for (const DType dtype : {DType::f32, DType::bf16})
    check_some(small_ones(Papers(dtype).tiles(policy)), rounds, random);
}

/// The assembler has registers for all of a tile, and nearly as many as predicted.
void check_registers(const GpuTile& tile, int spilled = 0) {
  MatmulCase c = paper_case(tile, Copy::Vectors);
  c.bias = c.gelu = true;
  c.split = c.tile.can_be_shared();
  llvm::LLVMContext context;
  const BuiltMatmul built = build(c);
  const std::string text = lower_to_ptx(*emit_device_module(context, source_of(built), "matmul"));
  std::string registers;
  const int most = dyn::test::checked_registers(
      text, to_string(c), dyn::test::ptxas_gpus().first(1), registers, spilled);
  std::printf("%s: %d registers, %d predicted\n", tile.to_string().c_str(), most, tile.registers());
  CHECK_MESSAGE(most <= c.tile.registers() + most_more_registers, to_string(c));
}

}  // namespace

TEST_CASE("tiles of every paper's own space multiply") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const Policy policy : tile_makers) check_policy(policy, 2, random);
}

TEST_CASE("dyn's late tiles multiply") {
  std::mt19937_64 random(dyn::testing::test_seed());
  for (const DType dtype : {DType::f32, DType::bf16})
    check_some(small_ones(late_tiles(dtype)), 3, random);
}

TEST_CASE("lanes in one row, odd rows of a thread, and warps of 48 rows multiply") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const auto block = [](GpuTile warp, int rows, int columns, int depth) {
    warp.block_m = rows * warp.warp_m;
    warp.block_n = columns * warp.warp_n;
    warp.block_k = depth;
    return warp;
  };
  for (const GpuTile& tile :
       {block(choice::cuda_warp(1, 7, 4), 2, 1, 8), block(choice::cuda_warp(32, 1, 4), 1, 3, 16),
        block(choice::cuda_warp(2, 3, 8), 1, 1, 24), block(choice::cuda_warp(16, 5, 4), 1, 5, 8)})
    run_at_random(paper_case(tile, Copy::Vectors), random);
  for (GpuTile tile : {block(*choice::tensor_warp(DType::bf16, 48, 16), 1, 3, 48),
                       block(*choice::tensor_warp(DType::bf16, 16, 32), 3, 1, 80),
                       block(*choice::tensor_warp(DType::bf16, 96, 16), 1, 1, 16)}) {
    for (const int stages : {2, 4}) {
      tile.stages = stages;
      tile.ahead = stages > 2;
      MatmulCase c = paper_case(tile, Copy::Vectors);
      run_at_random(c, random);
    }
  }
}

TEST_SUITE("full") {
  TEST_CASE("all of dyn's late tiles multiply") {
    std::mt19937_64 random(dyn::testing::test_seed());
    dyn::testing::Sweep sweep(12);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const GpuTile& tile : small_ones(late_tiles(dtype))) {
        for (const Copy copy : {Copy::Vectors, Copy::Elements}) {
          if (!sweep.takes()) continue;
          run_at_random(paper_case(tile, copy), random);
        }
      }
    }
  }

  TEST_CASE("dyn's late tiles assemble without spills") {
    if (dyn::test::ptxas_is_missing()) return;
    dyn::testing::Sweep sweep(12);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const GpuTile& tile : late_tiles(dtype)) {
        if (sweep.takes()) check_registers(tile);
      }
    }
  }

  TEST_CASE("many tiles of every paper's own space multiply") {
    std::mt19937_64 random(dyn::testing::test_seed());
    for (const Policy policy : tile_makers)
      check_policy(policy, dyn::testing::test_rounds(40, 10), random);
  }

  TEST_CASE("tiles of the papers' spaces assemble, large ones with few spills") {
    if (dyn::test::ptxas_is_missing()) return;
    // One has no registers for fragments ahead; the steps of the other lie at odd distances.
    for (const auto& [rows, columns, m, n, k] :
         {std::array{32, 128, 96, 256, 64}, std::array{16, 32, 16, 128, 176}}) {
      GpuTile tile = choice::tensor_warp(DType::bf16, rows, columns).value();
      tile.block_m = m;
      tile.block_n = n;
      tile.block_k = k;
      check_registers(choice::at_stages(tile, 3));
    }
    std::mt19937_64 random(dyn::testing::test_seed());
    for (const Policy policy : tile_makers) {
      for (const DType dtype : {DType::f32, DType::bf16}) {
        const std::vector<GpuTile> tiles = Papers(dtype).tiles(policy);
        for (int i = 0; i < dyn::testing::test_rounds(20, 7); ++i)
          check_registers(tiles[random() % tiles.size()], most_spilled);
      }
    }
  }
}
