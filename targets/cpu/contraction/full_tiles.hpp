#pragma once
// Runs of full tiles: sums go from registers, or from a tile in scratch, through the group's
// expressions to memory.

#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/cpu/contraction/classes.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/tile/tile_loop.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

/// A function of the module: tiles one below the other, each over all of K.
class FullTiles {
 public:
  /// What one call needs; strides as a MainLoop gets them. In a strip, `a` is its first element,
  /// every row's window begins `offsets` elements (i64, a row's behind the other's) from it, and of
  /// each of its `segments` k elements lie together, a_row_stride from one segment to the next.
  struct Run {
    llvm::Value *a, *a_row_stride, *b, *b_k_stride, *panel_stride, *k;
    llvm::Value *offsets, *segments;
    Ahead ahead;               ///< the first tile's
    llvm::Value* ahead_share;  ///< by which the distance grows from tile to tile
    llvm::Value *first_row, *tiles, *first_column,
        *columns;          ///< `columns` exist: at most the tile's
    llvm::Value* scratch;  ///< for a tile's sums (ContractionClass::sums_in_scratch)
  };

  /// Writes the function. Lanes run along n.
  FullTiles(llvm::Module& module, const std::string& symbol, const rkernel::Problem& problem,
            const codegen::Isa& isa, const codegen::SlotTable& slots,
            const ContractionClass& shape_class, const Tile& tile);

  /// Calls it where the builder stands: with the kernel's arguments, and an index for each batch
  /// axis of the problem, in their order.
  void call(codegen::Builder& builder, llvm::Value* kernel_args, const Run& run,
            const std::vector<llvm::Value*>& batch) const;

  const Tile& tile() const { return tile_; }
  /// Whether its columns may be fewer than the tile's.
  bool masks() const { return masks_; }

 private:
  llvm::Function* function_;
  Tile tile_;
  bool masks_;
};

/// The axes of the batch, in their order.
std::vector<int> batch_axes(const rkernel::Problem& problem);

}  // namespace dyn::cpu
