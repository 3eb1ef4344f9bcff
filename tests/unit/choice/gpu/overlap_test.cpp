// What blocks gain that store a tile's outputs while the copies of their next one arrive, and low
// tiles by few rows.

#include <doctest/doctest.h>

#include "src/choice/gpu/programs.hpp"
#include "src/choice/gpu/wave.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"

using namespace dyn;
using namespace dyn::choice;

namespace {

GpuTile low_tile() {
  for (const GpuTile& tile : gpu_tiles(ptx::described_gpu("a100"), DType::bf16, false))
    if (tile.thread_n == 16) return tile;
  return {};
}

GpuContraction bf16(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.m = m, .n = n, .k = k, .a_element_bytes = 2, .b_element_bytes = 2};
}

}  // namespace

TEST_CASE("each tile of a block but its first hides its latency behind the outputs before") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  for (const GpuTile& tile : gpu_tiles(machine, DType::bf16, false)) {
    if (!tile.overlapped || tile.engine == Engine::CudaCores) continue;
    CAPTURE(tile.to_string());
    GpuTile plain = tile;
    plain.overlapped = false;
    const int resident =
        occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
    REQUIRE(resident ==
            occupancy(machine, plain.threads(), plain.registers(), plain.shared_bytes()).blocks);
    // Full waves, deep enough that all traffic takes less time than the blocks.
    for (const int waves : {1, 2, 5}) {
      const GpuContraction shape =
          bf16(tile.block_m,
               std::int64_t{waves} * machine.multiprocessors * resident * tile.block_n, 64);
      const GpuWave wave = gpu_wave(machine, shape, tile, resident),
                    before = gpu_wave(machine, shape, plain, resident);
      CHECK(before.hidden == 0);
      CHECK(wave.hidden > 0);
      CHECK(wave.hidden <= machine.memory_latency_seconds);
      const double bands = wave.seconds() - before.seconds();
      CHECK(bands >= 0);
      CHECK(wave.hidden > 2 * bands);
      CostBreakdown with, without;
      gpu_contraction_cost(machine, shape, tile, &with);
      gpu_contraction_cost(machine, shape, plain, &without);
      CHECK(without.costs.at(3) - with.costs.at(3) ==
            doctest::Approx((waves - 1) * wave.hidden - waves * bands).epsilon(1e-6));
    }
    GpuContraction elements = bf16(64, 64, 64);
    elements.a_vectors = false;
    CHECK(gpu_wave(machine, elements, tile, resident).hidden == 0);
  }
}

TEST_CASE("few rows of small matrices take a tile of 8 rows, and many rows do not") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  const std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
  const GpuTile low = low_tile();
  CHECK(low.block_m == 8);
  const auto chosen = [&](const GpuContraction& shape) {
    const GpuProgram program =
        select_gpu_program(machine, [&](const GpuTile&) { return shape; }, tiles, {}, true);
    return tiles.at(program.regions.front().tile);
  };
  CHECK(chosen(bf16(8, 1024, 1024)) == low);
  CHECK(chosen(bf16(4, 512, 1024)) == low);
  CHECK(chosen(bf16(64, 1024, 1024)).block_m > 8);
  CHECK(chosen(bf16(4096, 4096, 1024)).block_m > 8);
  GpuTile high = low;
  high.thread_m = high.warp_m = high.block_m = 16;
  high.thread_n = 8;
  CHECK(low.registers() < high.registers());
  CHECK(low.shared_bytes() < high.shared_bytes());
  CHECK(occupancy(machine, low.threads(), low.registers(), low.shared_bytes()).blocks >
        occupancy(machine, high.threads(), high.registers(), high.shared_bytes()).blocks);
}
