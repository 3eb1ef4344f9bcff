#pragma once
// Runs of full tiles as functions of their own: sums go from registers, or from a tile in scratch,
// through the group's expressions to memory.

#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/cpu/contraction/classes.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/tile/tile_loop.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// The operands of one call; strides are those of a MainLoop. In a strip, `a` is its first element,
/// every row's window begins `offsets` elements (i64, a row's behind the other's) from it, and of
/// each of its `segments` k elements lie together, a_row_stride from one segment to the next.
struct FullTiles {
  llvm::Value *a, *a_row_stride, *b, *b_k_stride, *panel_stride, *k;
  llvm::Value *offsets, *segments;
  Ahead ahead;               ///< the first tile's
  llvm::Value* ahead_share;  ///< by which the distance grows from tile to tile
  llvm::Value *first_row, *tiles, *first_column,
      *columns;          ///< `columns` exist: at most the tile's
  llvm::Value* scratch;  ///< for a tile's sums (ContractionClass::sums_in_scratch)
};

/// Tiles one below the other, each over all of K. Lanes run along n. The source refers to the
/// problem, the slots and the class.
codegen::KernelSource full_tiles_source(const rkernel::Problem& problem, const codegen::Isa& isa,
                                        const codegen::SlotTable& slots,
                                        const ContractionClass& shape_class, const Tile& tile);

/// True where such a tile may have fewer columns than its own.
inline bool masks_columns(const codegen::Isa& isa, bool is_vector) {
  return is_vector || isa.mask_registers;
}

/// Calls such a function where the builder stands: with the kernel's arguments, and an index for
/// each batch axis of the problem, in their order.
void call_full_tiles(codegen::Builder& builder, llvm::Value* function, llvm::Value* kernel_args,
                     const FullTiles& run, std::span<llvm::Value* const> batch);

}  // namespace dyn::cpu
