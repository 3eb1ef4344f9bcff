#pragma once
// Maps tickets to blocks of the output.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "src/rkernel/tree/layer.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// The most tickets of a launch: kernels count them, and the blocks beyond, with 32 bits.
inline constexpr std::int64_t most_tickets = std::int64_t{1} << 30;

/// Slots of the numbers that a raster needs: blocks along m and n, and divisors as multipliers
/// (Divider), so that a ticket divides nothing.
struct RasterSlots {
  struct DividerSlots {
    int multiplier, shift;
  };
  int m_blocks, n_blocks;
  DividerSlots batch;  ///< by the blocks of one batch
  DividerSlots group;  ///< by the blocks of a whole group of rows of blocks
  DividerSlots rest;   ///< by the rows of the last group, where it is not whole
  std::vector<DividerSlots> inner_batches;  ///< by the extents of batch axes but the first
};
RasterSlots add_raster_slots(codegen::SlotTable& slots, const rkernel::Problem& problem);
/// Fills these slots among `ints`, which has the problem's.
void fill_raster(const RasterSlots& raster, const rkernel::Problem& problem,
                 const codegen::SlotTable& slots, std::int64_t m_blocks, std::int64_t n_blocks,
                 std::span<std::int64_t> ints);

/// The index along each axis of the grid's loops, i64. `ticket`: i32, below most_tickets. Batch
/// axes vary slowest, the last of them fastest; within a batch, tickets go down a group of a few
/// rows of blocks before the next column of the group, so that blocks that run at the same time
/// read few tiles of A and of B, again and again, from L2.
std::map<int, llvm::Value*> locate_ticket(codegen::Builder& builder,
                                          const rkernel::Problem& problem,
                                          const RasterSlots& raster,
                                          const codegen::SlotTable& slots, llvm::Value* ints,
                                          llvm::Value* ticket);

}  // namespace dyn::ptx
