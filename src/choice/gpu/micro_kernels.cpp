#include "src/choice/gpu/micro_kernels.hpp"

#include <algorithm>
#include <map>

#include "src/base/rounding.hpp"
#include "src/choice/gpu/wave.hpp"

namespace dyn::choice {
namespace {

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

BelowBlock below_block(const GpuTile& tile) {
  return {tile.engine, tile.operands, tile.thread_m, tile.thread_n, tile.warp_m, tile.warp_n};
}

GpuMicroKernels::GpuMicroKernels(const GpuMachine& machine, const std::vector<GpuTile>& tiles,
                                 const GpuShapeFor& form, const TilesTogether& together)
    : multiprocessors_(machine.multiprocessors) {
  for (const GpuTile& tile : tiles)
    fastest_ = std::max(fastest_, multiply_adds_per_cycle(machine, tile));
  std::map<BelowBlock, std::size_t> warps;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const int resident =
        occupancy(machine, tiles[i].threads(), tiles[i].registers(), tiles[i].shared_bytes())
            .blocks;
    const std::size_t warp = warps.try_emplace(below_block(tiles[i]), i).first->second;
    if (resident == 0) continue;
    kernels_.push_back(kernel_of(machine, tiles[i], i, resident, form(tiles[i])));
    kernels_.back().warp = warp;
  }
  if (!together) return;
  together_.resize(kernels_.size() * kernels_.size());
  for (std::size_t a = 0; a < kernels_.size(); ++a) {
    for (std::size_t b = 0; b < kernels_.size(); ++b)
      together_[a * kernels_.size() + b] = together(tile_of(a), tile_of(b));
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
  return {.tile = index,
          .warp = index,
          .block = {tile.block_m, tile.block_n, tile.block_k},
          .blocks_per_wave = std::int64_t{multiprocessors_} * resident,
          .task = waves(1, predicted),
          .wave = waves(resident, predicted),
          .vortex = waves(resident, vortex_block),
          .traffic = traffic_of(machine, tile, form, fastest_)};
}

bool GpuMicroKernels::together(std::size_t a, std::size_t b) const {
  return !together_.empty() && together_[a * kernels_.size() + b];
}

double GpuMicroKernels::at_depth(std::size_t kernel, const Pipeline& pipeline,
                                 std::int64_t k) const {
  if (k <= 0) return pipeline.no_step;
  return pipeline.first_step +
         static_cast<double>(ceil_div(k, kernels_[kernel].block.k) - 1) * pipeline.next_step;
}

double GpuMicroKernels::compute_to_memory(std::size_t kernel, std::int64_t k) const {
  return choice::compute_to_memory(kernels_[kernel].traffic, ceil_div(k, kernels_[kernel].block.k));
}

double GpuMicroKernels::vortex_block_seconds(std::size_t kernel, std::int64_t k) const {
  return at_depth(kernel, kernels_[kernel].vortex, k);
}

double GpuMicroKernels::vortex_least_rate(std::size_t kernel) const {
  const Kernel& own = kernels_[kernel];
  return std::min(own.vortex.first_step, own.vortex.next_step) / static_cast<double>(own.block.k);
}

}  // namespace dyn::choice
