#include "src/choice/policies/vortex/layers.hpp"

#include <algorithm>
#include <map>

#include "src/base/bytes.hpp"
#include "src/choice/policies/vortex/multiples.hpp"

namespace dyn::choice {
namespace {

std::int64_t floats_of(const CacheBlock& block) {
  return (block.m + block.n) * block.k + block.m * block.n;
}

/// Equation 2.
double temporal(double load, double iterations, double below, double store) {
  return load + (iterations - 1) * std::max(load, below) + below + store;
}

}  // namespace

VortexLayers vortex_layers(const Machine& machine) {
  VortexLayers layers;
  for (const TileSpeed& tile : machine.tiles) {
    if (tile.columns >= machine.panel) layers.tiles.push_back({tile.rows, tile.columns});
  }
  const double capacity =
      static_cast<double>(block_memory(machine).bytes) / static_cast<double>(float_bytes);
  const auto least = static_cast<std::int64_t>(capacity * least_utilisation),
             most = static_cast<std::int64_t>(capacity * most_utilisation);
  std::map<CacheBlock, std::vector<std::size_t>> map;
  for (std::size_t tile = 0; tile < layers.tiles.size(); ++tile) {
    const auto block_at = [&](std::int64_t i, std::int64_t j, std::int64_t l) {
      return CacheBlock{i * layers.tiles[tile].rows, j * layers.tiles[tile].columns,
                        l * line_floats};
    };
    for_each_multiple([&](auto... by) { return floats_of(block_at(by...)) <= most; },
                      [&](auto... by) {
                        const CacheBlock block = block_at(by...);
                        if (floats_of(block) >= least) map[block].push_back(tile);
                      });
  }
  for (auto& [block, below] : map) {
    layers.blocks.push_back(block);
    layers.below.push_back(std::move(below));
  }
  return layers;
}

double register_seconds(const Machine& machine, const RegisterTile& tile, std::int64_t k,
                        const rkernel::Factors& factors, VortexAnalyser analyser) {
  if (analyser == VortexAnalyser::Mixed) {
    return static_cast<double>(k) *
               machine.find_tile(tile.rows, tile.columns, factors)->seconds_per_k +
           machine.seconds_per_call;
  }
  const double bandwidth = machine.bandwidth_per_thread(0, machine.threads);
  const double step = static_cast<double>(tile.rows * tile.columns) / machine.vector_width *
                      machine.seconds_per_vector_operation;
  const double load =
      (tile.rows * static_cast<double>(float_bytes) + tile.columns * factors.step_bytes()) /
      bandwidth;
  const double store = static_cast<double>(tile.rows * tile.columns * float_bytes) / bandwidth;
  return temporal(load, static_cast<double>(k), step, store);
}

double block_seconds(const Machine& machine, const CacheBlock& block, const RegisterTile& tile,
                     const BlockOperands& operands, VortexAnalyser analyser) {
  const double bandwidth =
      machine.bandwidth_per_thread(level_beyond_blocks(machine), machine.threads);
  const BlockKernel kernel{tile.rows, tile.columns, block.m, block.n, block.k};
  const double iterations = kernel.tiles();
  const auto read = [&](std::int64_t width, double element_bytes, bool moved) {
    return moved ? 0.0 : static_cast<double>(width * block.k) * element_bytes / bandwidth;
  };
  const double load = (read(block.m, static_cast<double>(float_bytes), operands.copies_a) +
                       read(block.n, operands.factors.step_bytes(), operands.packs_b) +
                       move_seconds(machine, kernel, block.k, operands, machine.threads)) /
                      iterations;
  const double store = static_cast<double>(block.m * block.n * float_bytes) / bandwidth;
  return temporal(load, iterations,
                  register_seconds(machine, tile, block.k, operands.factors, analyser), store);
}

std::vector<VortexBlock> all_vortex_blocks(const Machine& machine, const VortexLayers& layers,
                                           const BlockOperands& operands, VortexAnalyser analyser) {
  std::vector<VortexBlock> all;
  for (std::size_t i = 0; i < layers.blocks.size(); ++i) {
    const CacheBlock& block = layers.blocks[i];
    for (const std::size_t below : layers.below[i]) {
      const RegisterTile& tile = layers.tiles[below];
      all.push_back({{tile.rows, tile.columns, block.m, block.n, block.k},
                     below,
                     block_seconds(machine, block, tile, operands, analyser)});
    }
  }
  return all;
}

std::vector<VortexBlock> best_vortex_blocks(const std::vector<VortexBlock>& all) {
  const auto same_block = [](const BlockKernel& a, const BlockKernel& b) {
    return a.rows == b.rows && a.columns == b.columns && a.depth == b.depth;
  };
  std::vector<VortexBlock> best;
  for (const VortexBlock& one : all) {
    if (best.empty() || !same_block(best.back().block, one.block))
      best.push_back(one);
    else if (one.seconds < best.back().seconds)
      best.back() = one;
  }
  return best;
}

}  // namespace dyn::choice
