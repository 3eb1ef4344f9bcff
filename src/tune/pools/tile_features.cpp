#include "src/tune/pools/tile_features.hpp"

#include <cmath>

namespace dyn::tune {

std::vector<float> tile_features(const choice::GpuMachine& machine, const choice::GpuTile& tile) {
  const double rows = tile.block_m, columns = tile.block_n, depth = tile.block_k,
               warp_rows = tile.warp_m, warp_columns = tile.warp_n;
  const double accumulators = warp_rows * warp_columns / choice::warp_lanes;
  const int resident =
      choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks;
  const double stage = tile.a_stage_bytes() + tile.b_stage_bytes();
  const double features[] = {
      std::log2(tile.thread_m),
      std::log2(tile.thread_n),
      std::log2(warp_rows),
      std::log2(warp_columns),
      std::log2(rows / warp_rows),
      std::log2(columns / warp_columns),
      std::log2(depth),
      static_cast<double>(tile.stages),
      accumulators,
      static_cast<double>(tile.registers()) / machine.registers_per_thread,
      // Reads of a warp from shared memory for each multiply-add, and of a block from global
      // memory.
      1 / warp_rows + 1 / warp_columns,
      1 / rows + 1 / columns,
      std::log2(rows * columns * depth),
      stage / machine.shared_bytes_per_block,
      static_cast<double>(tile.shared_bytes()) / machine.shared_bytes_per_multiprocessor,
      static_cast<double>(tile.threads()) / machine.threads_per_multiprocessor,
      static_cast<double>(resident),
  };
  return {std::begin(features), std::end(features)};
}

}  // namespace dyn::tune
