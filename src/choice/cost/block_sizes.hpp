#pragma once
// What a strategy makes of the sizes of a contraction: blocks, tiles and their speed.

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// Sizes of the largest block, which is the one that the other threads wait for. Counts are whole
/// numbers.
struct BlockSizes {
  rkernel::Tiling rows;  ///< of one block
  double row_tiles, column_tiles, k_blocks;
  double block_m, block_n, block_k;
  double m_blocks, n_blocks, slices;
  double seconds_per_k;        ///< one step of K of one tile, the mean over all blocks
  double whole_seconds_per_k;  ///< the same in blocks that do not end in a narrow tile
  int loop_calls;              ///< main loops of a tile: one, or one for each right side
};

/// Seconds of one vector's multiply-add, at the speed of the tallest tile of a panel.
double seconds_per_multiply_add(const Machine& machine);

/// Seconds of one step of K of row tiles with so many columns, their mean; 0 without tiles.
double seconds_per_k(const Machine& machine, const rkernel::Tiling& rows, int columns,
                     const rkernel::Factors& factors);

/// Several right sides whose tiles of a panel fit into the registers together, for so many rows of
/// a block, are multiplied by one main loop: its columns, a panel of each side. 0: each has its own
/// loop, or there is one side.
int columns_of_sides(const Machine& machine, const ContractionShape& shape,
                     const rkernel::Strategy& strategy, std::int64_t block_m);

/// BlockSizes of strategies of one shape. What depends on tiles and blocks along M and N alone is
/// kept from one strategy to the next where that has the same.
class BlockSizer {
 public:
  BlockSizer(const Machine& machine, const ContractionShape& shape)
      : machine_(machine), shape_(shape) {}
  const BlockSizes& of(const rkernel::Strategy& strategy);

 private:
  void set_rows(const rkernel::Strategy& strategy);
  void set_columns(const rkernel::Strategy& strategy);
  void set_depth(const rkernel::Strategy& strategy);

  const Machine& machine_;
  const ContractionShape& shape_;
  rkernel::Strategy last_{.tile_rows = 0};  ///< no strategy has tiles without rows
  double wide_ = 0, narrow_ = 0;  ///< seconds of a step of K of a row tile, the mean: in whole
                                  ///< panels, and in a last one of at most a vector
  BlockSizes sizes_{};
};

}  // namespace dyn::choice
