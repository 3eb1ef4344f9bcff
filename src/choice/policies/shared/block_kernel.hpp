#pragma once
// Micro-kernels of a CPU: blocks of outputs, and what the machine's figures say about them.

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/rounding.hpp"
#include "src/choice/cost/machine.hpp"

namespace dyn::choice {

/// A block of outputs cut in register tiles. Its sums run over `depth` elements of K at a time, one
/// such block after the other; 0: over all of K.
struct BlockKernel {
  int tile_rows = 1, tile_columns = 1;
  std::int64_t rows = 1, columns = 1;  ///< of the block
  std::int64_t depth = 0;
  bool operator==(const BlockKernel&) const = default;

  double tiles() const {
    return static_cast<double>(ceil_div(rows, tile_rows)) *
           static_cast<double>(ceil_div(columns, tile_columns));
  }
  /// Blocks of K in a reduction of `k`; at least 1.
  std::int64_t steps(std::int64_t k) const {
    return depth <= 0 || k <= depth ? 1 : ceil_div(k, depth);
  }
};

/// A block, and the depths of the reduction at which its policy wants it timed.
template <class Block>
struct PlanOf {
  Block block;
  std::vector<std::int64_t> depths;  ///< ascending; none: it is not timed
  bool together = false;             ///< also while every unit has as many as it holds
  bool operator==(const PlanOf&) const = default;
};

/// The times of a block: seconds at each of its plan's depths; nothing where it has none.
template <class Block>
struct SpeedOf {
  PlanOf<Block> plan;
  std::vector<double> alone = {};  ///< one unit has a block, the others rest
  std::vector<double> together =
      {};  ///< every unit has as many as it holds, where the plan wants it
};

using BlockPlan = PlanOf<BlockKernel>;
using BlockSpeed = SpeedOf<BlockKernel>;

/// A micro-kernel of a tuner's pool as whole numbers, whatever the machine: on a CPU those of a
/// block (numbers_of()), on a GPU those of a tile (policies/gpu/tuned_tiles.hpp).
using PoolKernel = std::vector<std::int64_t>;
using PoolPlan = PlanOf<PoolKernel>;
using PoolSpeed = SpeedOf<PoolKernel>;

/// `[tile rows, tile columns, rows, columns, depth]`, and back.
PoolKernel numbers_of(const BlockKernel& block);
BlockKernel block_of(const PoolKernel& kernel);

/// How the operands of blocks come: what a block moves into its scratch is part of its time.
struct BlockOperands {
  rkernel::Factors factors;
  bool copies_a = false, packs_b = false;
  bool direct_b = false;  ///< B is read row by row, as it lies; else from panels
  auto operator<=>(const BlockOperands&) const = default;

  /// The part that times of blocks depend on: moves are added to them.
  BlockOperands timed() const { return {factors, false, false, direct_b}; }
  /// "f32, B in panels".
  std::string name() const {
    return factors.name() + (direct_b ? ", B as it lies" : ", B in panels");
  }
};

/// Seconds of a block's multiply-adds over `k` elements, at the speed of its tile with operands in
/// the nearest memory, and of the calls of main loops.
double compute_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                       const rkernel::Factors& factors);
/// Seconds in which one of `active` threads moves into scratch what must be moved, from beyond L2.
double move_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                    const BlockOperands& operands, int active);
/// Seconds of one block over `k` elements while `active` threads have one, from the machine's
/// figures: multiply-adds, or what they read from beyond L2, whichever takes longer; moves; the
/// taking of a ticket.
double predicted_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                         const BlockOperands& operands, int active);

/// L2: where blocks stay while they are computed.
const MemoryLevel& block_memory(const Machine& machine);
/// Index of the level beyond it.
std::size_t level_beyond_blocks(const Machine& machine);

}  // namespace dyn::choice
