// Tiles of a GPU as micro-kernels, compared with the waves that they come from.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "src/choice/gpu/micro_kernels.hpp"
#include "src/choice/gpu/wave.hpp"
#include "src/choice/policies/vortex/vortex.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/relative.hpp"

using namespace dyn;
using namespace dyn::choice;
using namespace dyn::rkernel;
using dyn::testing::rounding;

namespace {

GpuContraction form_of(const GpuTile& tile) {
  const double bytes = tile.engine == Engine::TensorCores ? 2 : 4;
  return {.batch = 9,
          .m = 7,
          .n = 5,
          .k = 3,
          .a_element_bytes = bytes,
          .b_element_bytes = bytes,
          .b_vectors = tile.block_m > 32,
          .epilogue_operations = 6,
          .epilogue_bytes = 4};
}

int resident(const GpuMachine& machine, const GpuTile& tile) {
  return occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
}

// Equations 2 to 4, layer by layer, in plain steps: one load before the first step, and max(load,
// work) before each that follows.
double vortex_wave(const GpuWave& wave) {
  double below = wave.instruction;
  for (const LayerTerms& layer : wave.layers) {
    double total = 0;
    const int trips = static_cast<int>(std::lround(layer.spatial_trips * layer.reduction_trips));
    for (int trip = 0; trip < trips; ++trip)
      total += trip == 0 ? layer.load : std::max(layer.load, below);
    if (trips > 0) total += below;
    below = total + layer.spatial_trips * layer.store;
  }
  return below;
}

}  // namespace

TEST_CASE("seconds of a GPU's micro-kernels are those of its waves, at every depth") {
  for (const char* gpu : {"a100", "h200"}) {
    const GpuMachine& machine = ptx::described_gpu(gpu);
    const std::vector<GpuTile> tiles = gpu_tiles(machine, DType::bf16, false);
    const GpuMicroKernels kernels(machine, tiles, form_of);
    REQUIRE(kernels.size() == tiles.size());
    CHECK(kernels.units() == machine.multiprocessors);
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      const GpuTile& tile = tiles[i];
      CAPTURE(tile.to_string());
      CHECK(kernels[i].m == tile.block_m);
      CHECK(kernels[i].n == tile.block_n);
      CHECK(kernels[i].k == tile.block_k);
      CHECK(kernels.tile_of(i) == i);
      CHECK(kernels.blocks_per_wave(i) == machine.multiprocessors * resident(machine, tile));
      GpuContraction block = form_of(tile);
      block.batch = 1;
      block.m = tile.block_m;
      block.n = tile.block_n;
      for (const std::int64_t k : {0, 1, 31, 64, 65, 1000, 8192}) {
        block.k = k;
        const GpuWave full = gpu_wave(machine, block, tile, resident(machine, tile));
        CHECK(
            kernels.task_seconds(i, k) ==
            dyn::testing::relative(gpu_wave(machine, block, tile, 1).seconds()).epsilon(rounding));
        CHECK(kernels.wave_seconds(i, k) ==
              dyn::testing::relative(full.seconds()).epsilon(rounding));
        CHECK(kernels.wave_seconds(i, k) * (1 + rounding) >= kernels.task_seconds(i, k));
        const ProductShape two_waves{1, tile.block_m * (kernels.blocks_per_wave(i) + 1),
                                     tile.block_n, k};
        CHECK(vortex_seconds(kernels, i, two_waves) ==
              dyn::testing::relative(2 * vortex_wave(full)).epsilon(rounding));
      }
    }
  }
}

TEST_CASE("compute to memory of a GPU's tile, by hand") {
  GpuMachine machine = ptx::described_gpu("a100");
  machine.multiprocessors = 100;
  machine.clock_hz = 1e9;
  machine.f32_fma = 64;
  machine.memory_bytes_per_second = 1e12;
  machine.shared_bytes = 1e6;  // never the limit
  GpuTile tile;                // 128 x 128 x 16, f32
  const GpuMicroKernels kernels(machine, {tile},
                                [](const GpuTile&) { return GpuContraction{.epilogue_bytes = 4}; });
  REQUIRE(kernels.size() == 1);
  // Multiply-adds: 128 * 128 * 16 / 64 = 4096 ns. Memory: 256 * 16 * 4 bytes at 10 bytes a ns, and
  // 65536 bytes once.
  CHECK(kernels.compute_to_memory(0, 16) == doctest::Approx(4096 / (1638.4 + 6553.6)));
  CHECK(kernels.compute_to_memory(0, 1600) == doctest::Approx(409600 / (163840 + 6553.6)));
  CHECK(kernels.compute_to_memory(0, 1585) == kernels.compute_to_memory(0, 1600));
  CHECK(std::isfinite(kernels.compute_to_memory(0, 0)));
  // Beside a tile for tensor cores the hardware is as fast as those.
  GpuTile tensor = tile;
  tensor.engine = Engine::TensorCores;
  tensor.operands = DType::bf16;
  tensor.thread_m = 16;
  machine.f16_mma_fma = 1024;
  const GpuMicroKernels both(machine, {tile, tensor},
                             [](const GpuTile&) { return GpuContraction{.epilogue_bytes = 4}; });
  CHECK(both.compute_to_memory(0, 16) == doctest::Approx(256 / (1638.4 + 6553.6)));
  // Fragments of 8 + 8 floats for each of 256 threads and each of 16 steps pass through shared
  // memory, and so does the data of a stage.
  machine.shared_bytes = 1;
  const GpuMicroKernels narrow(machine, {tile},
                               [](const GpuTile&) { return GpuContraction{.epilogue_bytes = 4}; });
  const double bytes = 256.0 * 16 * 16 * 4 + tile.a_stage_bytes() + tile.b_stage_bytes();
  CHECK(narrow.compute_to_memory(0, 16) == doctest::Approx(4096 / bytes));
}

TEST_CASE("tiles that do not fit are no micro-kernels") {
  const GpuMachine& machine = ptx::described_gpu("a100");
  GpuTile large;
  large.stages = 64;
  const GpuMicroKernels kernels(machine, {large, GpuTile{}}, form_of);
  REQUIRE(kernels.size() == 1);
  CHECK(kernels.tile_of(0) == 1);
}
