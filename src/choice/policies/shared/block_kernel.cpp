#include "src/choice/policies/shared/block_kernel.hpp"

#include "src/base/bytes.hpp"
#include "src/choice/cost/copy_cost.hpp"

namespace dyn::choice {

PoolKernel numbers_of(const BlockKernel& block) {
  return {block.tile_rows, block.tile_columns, block.rows, block.columns, block.depth};
}

BlockKernel block_of(const PoolKernel& kernel) {
  return {static_cast<int>(kernel.at(0)), static_cast<int>(kernel.at(1)), kernel.at(2),
          kernel.at(3), kernel.at(4)};
}

const MemoryLevel& block_memory(const Machine& machine) {
  return machine.levels[std::min<std::size_t>(1, machine.levels.size() - 1)];
}

std::size_t level_beyond_blocks(const Machine& machine) {
  return std::min<std::size_t>(2, machine.levels.size() - 1);
}

double compute_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                       const rkernel::Factors& factors) {
  const TileSpeed* tile = machine.find_tile(block.tile_rows, block.tile_columns, factors);
  return block.tiles() * (static_cast<double>(k) * tile->seconds_per_k +
                          static_cast<double>(block.steps(k)) * machine.seconds_per_call);
}

double move_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                    const BlockOperands& operands, int active) {
  const auto moved = [&](std::int64_t width, bool packs) {
    return block_move_seconds(machine, static_cast<double>(width) * static_cast<double>(k),
                              DType::f32, level_beyond_blocks(machine), packs, active);
  };
  return (operands.copies_a ? moved(block.rows, false) : 0) +
         (operands.packs_b ? moved(block.columns, true) : 0);
}

double predicted_seconds(const Machine& machine, const BlockKernel& block, std::int64_t k,
                         const BlockOperands& operands, int active) {
  const double read = static_cast<double>(block.rows + block.columns) * static_cast<double>(k) *
                      float_bytes /
                      machine.bandwidth_per_thread(level_beyond_blocks(machine), active);
  return std::max(compute_seconds(machine, block, k, operands.factors), read) +
         move_seconds(machine, block, k, operands, active) + machine.seconds_per_ticket;
}

}  // namespace dyn::choice
