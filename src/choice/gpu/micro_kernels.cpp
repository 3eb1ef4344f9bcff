#include "src/choice/gpu/micro_kernels.hpp"

#include <algorithm>
#include <tuple>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

double multiply_adds_per_cycle(const GpuMachine& machine, const GpuTile& tile) {
  if (tile.engine == Engine::CudaCores) return machine.f32_fma;
  return mma_fma(machine, tile.operands);
}

bool alike_below_block(const GpuTile& a, const GpuTile& b) {
  const auto layer = [](const GpuTile& tile) {
    return std::tuple(tile.engine, tile.operands, tile.thread_m, tile.thread_n, tile.warp_m,
                      tile.warp_n);
  };
  return layer(a) == layer(b);
}

// Equations 2 to 4 from the registers up to one block of the grid.
double vortex_block(const GpuWave& wave) {
  double below = wave.instruction;
  for (LayerTerms terms : wave.layers) {
    terms.fixed = terms.exposed = 0;
    below = layer_cost(terms, below, true);
  }
  return below;
}

}  // namespace

GpuMicroKernels::GpuMicroKernels(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                                 const GpuShapeFor& form, const std::vector<GpuPair>& pairs)
    : multiprocessors_(machine.multiprocessors), pairs_(pairs) {
  for (const GpuTile& tile : tiles)
    fastest_ = std::max(fastest_, multiply_adds_per_cycle(machine, tile));
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const int resident =
        occupancy(machine, tiles[i].threads(), tiles[i].registers(), tiles[i].shared_bytes())
            .blocks;
    if (resident == 0) continue;
    kernels_.push_back(kernel_of(machine, tiles[i], i, resident, form(tiles[i])));
    const auto alike = std::ranges::find_if(
        tiles, [&](const GpuTile& other) { return alike_below_block(other, tiles[i]); });
    kernels_.back().warp = static_cast<std::size_t>(alike - tiles.begin());
  }
}

GpuMicroKernels::Kernel GpuMicroKernels::kernel_of(const GpuMachine& machine, const GpuTile& tile,
                                                   std::size_t index, int resident,
                                                   const GpuContraction& form) const {
  GpuContraction block = form;
  block.batch = 1;
  block.m = tile.block_m;
  block.n = tile.block_n;
  const auto waves = [&](int blocks, auto&& seconds) {
    const auto with_steps = [&](int steps) {
      block.k = std::int64_t{steps} * tile.block_k;
      return seconds(gpu_wave(machine, block, tile, blocks));
    };
    return Pipeline{with_steps(0), with_steps(1), with_steps(2) - with_steps(1)};
  };
  const auto predicted = [](const GpuWave& wave) { return wave.seconds(); };
  Kernel kernel{.tile = index,
                .warp = index,
                .block = {tile.block_m, tile.block_n, tile.block_k},
                .blocks_per_wave = std::int64_t{multiprocessors_} * resident,
                .task = waves(1, predicted),
                .wave = waves(resident, predicted),
                .vortex = waves(resident, vortex_block),
                .compute = 0,
                .memory = 0,
                .shared = 0,
                .output_memory = 0};
  const double outputs = static_cast<double>(tile.block_m) * tile.block_n;
  const double bytes_per_second = machine.memory_bytes_per_second / multiprocessors_;
  kernel.compute = outputs * tile.block_k / fastest_ / machine.clock_hz;
  kernel.memory = tile.block_k *
                  (tile.block_m * form.a_element_bytes + tile.block_n * form.b_element_bytes) /
                  bytes_per_second;
  kernel.output_memory = outputs * form.epilogue_bytes / bytes_per_second;
  const LayerTerms warp = gpu_wave(machine, block, tile, 1).layers.front();
  kernel.shared = warp.spatial_trips * warp.reduction_trips * warp.load;
  return kernel;
}

bool GpuMicroKernels::together(std::size_t a, std::size_t b) const {
  const auto is_pair = [&](std::size_t first, std::size_t second) {
    return std::ranges::find(pairs_, GpuPair{tile_of(first), tile_of(second)}) != pairs_.end();
  };
  return is_pair(a, b) || is_pair(b, a);
}

double GpuMicroKernels::at_depth(std::size_t kernel, const Pipeline& pipeline,
                                 std::int64_t k) const {
  if (k <= 0) return pipeline.no_step;
  return pipeline.first_step +
         static_cast<double>(ceil_div(k, kernels_[kernel].block.k) - 1) * pipeline.next_step;
}

double GpuMicroKernels::compute_to_memory(std::size_t kernel, std::int64_t k) const {
  const Kernel& own = kernels_[kernel];
  const double steps = static_cast<double>(std::max<std::int64_t>(1, ceil_div(k, own.block.k)));
  return steps * own.compute / std::max(steps * own.memory + own.output_memory, steps * own.shared);
}

double GpuMicroKernels::vortex_block_seconds(std::size_t kernel, std::int64_t k) const {
  return at_depth(kernel, kernels_[kernel].vortex, k);
}

double GpuMicroKernels::vortex_least_rate(std::size_t kernel) const {
  const Kernel& own = kernels_[kernel];
  return std::min(own.vortex.first_step, own.vortex.next_step) / static_cast<double>(own.block.k);
}

}  // namespace dyn::choice
