#pragma once
// Loads the fragments of one operand from its tile in shared memory to the registers that mma
// expects. One k step is 32 bytes of K: 32 integers of 8 bits, 16 elements of 16 bits, or 8 TF32
// elements. So ldmatrix, which moves 8 rows of 16 bytes, serves all: an 8 x 8 matrix of 16-bit
// elements is an 8 x 4 matrix of TF32 ones and an 8 x 16 matrix of bytes, and hands each lane the
// elements that mma.m16n8k16, mma.m16n8k8 and mma.m16n8k32 want there (PTX ISA, "Matrix fragments
// for mma.m16n8k16", "... mma.m16n8k8", "... mma.m16n8k32", "ldmatrix").

#include <memory>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/tile/leaf.hpp"

namespace dyn::ptx {

/// Extents of one instruction's tile, and bytes of K that it consumes.
inline constexpr int mma_rows = 16, mma_columns = 8, k_step_bytes = 32;

/// A and B have changed places in mma: 16 columns of the output are an instruction's rows, and 8
/// rows its columns.
inline bool is_swapped(const choice::GpuTile& tile) { return tile.thread_n == mma_rows; }

class FragmentLoads {
 public:
  virtual ~FragmentLoads() = default;
  /// The operand's tile of one stage.
  virtual SharedTile tile() const = 0;
  /// Computes values that are constant in the loops. `first`: the warp's first row (A) or column
  /// (B) within the block.
  virtual void prepare(codegen::Builder& builder, llvm::Value* lane, llvm::Value* first) = 0;
  /// The lane's addresses in the stage that begins at `stage`; all others are a constant away.
  virtual std::vector<llvm::Value*> addresses(codegen::Builder& builder,
                                              llvm::Value* stage) const = 0;
  /// Registers of k step `step`: those that mma takes, for each instruction's tile of the warp, in
  /// its order (A: four, B: two; swapped: A two, B four).
  virtual std::vector<std::vector<llvm::Value*>> load(codegen::Builder& builder,
                                                      const std::vector<llvm::Value*>& addresses,
                                                      int step) const = 0;
};

/// Maps a warp's columns of the block to those of B's instruction tiles. Words of TF32 are loaded 4
/// rows of 8 columns at once: these use no bank twice if the two halves of the 8 columns lie 16
/// apart, as the swizzle moves chunks of 4 columns within 32 columns.
///
/// ldmatrix transposes pairs of bytes. So of 16 columns of bytes whose rows run along N, the even
/// ones are an instruction's tile, and the odd ones the next: a lane has four neighbours in both.
class ColumnMap {
 public:
  ColumnMap() = default;  ///< all columns are neighbours
  ColumnMap(const choice::GpuTile& tile, BOrder order);
  /// Two instruction tiles share 16 columns, even and odd ones.
  bool interleaved() const { return interleaved_; }
  /// Columns 4 to 7 of an instruction's tile lie so many after columns 0 to 3; 4: all 8 are
  /// neighbours.
  int spread() const { return spread_; }
  /// Columns 0 to 3 of instruction tile `tile`, from the warp's first column.
  int start(int tile) const {
    return tile % (spread_ / 4) * 4 + tile / (spread_ / 4) * 2 * spread_;
  }
  /// First column of a warp (i32), by its index along n: narrow warps share 2 * spread() columns.
  llvm::Value* first(codegen::Builder& builder, llvm::Value* warp) const;

 private:
  int spread_ = 4, warp_n_ = 0;
  bool interleaved_ = false;
};

/// B of `columns` neighbouring columns, rows along N, where A's fragments are accumulators of
/// another product, whose columns are its K: each instruction's accumulators of TF32 stand in A as
/// rows 0, 2, 4, 6, 1, 3, 5, 7 of K. Elements of 2 bytes stand in order.
std::unique_ptr<FragmentLoads> make_chained_b_loads(const SharedTile& tile, DType operands,
                                                    int columns);

std::unique_ptr<FragmentLoads> make_a_loads(const choice::GpuTile& tile);
std::unique_ptr<FragmentLoads> make_b_loads(const choice::GpuTile& tile, BOrder order);

}  // namespace dyn::ptx
