#include "src/tune/pools/kernel_features.hpp"

#include <cmath>

#include "src/base/bytes.hpp"

namespace dyn::tune {
namespace {

double bytes_of(double floats) { return floats * static_cast<double>(float_bytes); }

}  // namespace

std::vector<float> kernel_features(const choice::Machine& machine,
                                   const choice::BlockKernel& kernel) {
  const double rows = kernel.tile_rows, columns = kernel.tile_columns,
               row_tiles = static_cast<double>(kernel.rows) / rows,
               column_tiles = static_cast<double>(kernel.columns) / columns,
               depth = static_cast<double>(kernel.depth);
  const double vectors = columns / machine.vector_width, accumulators = rows * vectors;
  const double near = static_cast<double>(machine.levels.front().bytes),
               block_room = static_cast<double>(choice::block_memory(machine).bytes);
  // Panels of B are read again for each row of tiles, rows of A for each column of tiles.
  const double panel = bytes_of(columns * depth), a_rows = bytes_of(rows * depth),
               a_block = bytes_of(static_cast<double>(kernel.rows) * depth),
               b_block = bytes_of(static_cast<double>(kernel.columns) * depth),
               sums = bytes_of(static_cast<double>(kernel.rows * kernel.columns));
  const double multiply_adds = static_cast<double>(kernel.rows * kernel.columns) * depth;
  const double features[] = {
      std::log2(rows),
      std::log2(columns),
      std::log2(row_tiles),
      std::log2(column_tiles),
      std::log2(depth),
      accumulators,
      (rows + vectors) / accumulators,  // loads for each multiply-add of the main loop
      std::log2(row_tiles * column_tiles),
      std::log2(multiply_adds),
      std::log2(multiply_adds / (a_block + b_block + 2 * sums)),  // arithmetic intensity
      (panel + a_rows) / near,
      (panel + a_block) / near,
      (a_block + b_block + sums) / block_room,
      sums / near,
      column_tiles * columns / machine.panel,
  };
  return {std::begin(features), std::end(features)};
}

}  // namespace dyn::tune
