#pragma once
// How an operand's tile comes from global to shared memory, as IR.

#include <vector>

#include "dyn/dtype.hpp"
#include "targets/ptx/contraction_emitter.hpp"
#include "targets/ptx/shared_tile.hpp"

namespace dyn::ptx {

/// A window of a matrix in global memory, as large as the tile or smaller at the matrix's edge.
struct TileSource {
  llvm::Value* origin = nullptr;  ///< its first element, which exists
  llvm::Value *rows = nullptr, *columns = nullptr;  ///< i32: what exists, no more than the tile has
};

/// The copies that the threads of a block make together for one tile. What does not exist is 0 in shared memory, and is never read.
class TileCopy {
 public:
  /// `tile_dtype`: of the elements in shared memory, `source_dtype`: in global memory.
  TileCopy(const SharedTile& tile, DType tile_dtype, DType source_dtype, Copy copy, int threads);

  /// Copies are cp.async; else each thread loads, converts and stores before issue() ends.
  bool asynchronous() const { return copy_ == Copy::Vectors || (tile_dtype_ == DType::f32 && source_dtype_ == DType::f32); }
  bool vectors() const { return copy_ == Copy::Vectors; }
  /// The thread's part, at the builder's place. Strides of the source in elements, i64; for vectors that of columns is 1.
  void prepare(codegen::Builder& builder, llvm::Value* thread, llvm::Value* row_stride, llvm::Value* column_stride);
  /// Issues all copies of the thread. `destination`: ptr addrspace(3) to the tile.
  void issue(codegen::Builder& builder, const TileSource& source, llvm::Value* destination) const;

 private:
  struct Unit {
    llvm::Value *row, *column;
  };
  /// A chunk of 16 bytes: its row and column, its byte offsets in the source and in the tile.
  struct Chunk {
    Unit unit;
    llvm::Value *from, *to;
  };
  struct Element {
    llvm::Value *from, *place, *exists;
    llvm::Value* inside;  ///< of the tile; nullptr: always
  };
  struct Pending {
    llvm::Value *value, *place, *inside;
  };
  int units() const { return tile_.rows * units_in_row_; }
  Unit unit_at(codegen::Builder& builder, llvm::Value* index) const;
  llvm::Value* inside(codegen::Builder& builder, llvm::Value* index) const;
  void issue_straight(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* first, int copies) const;
  Chunk chunk_at(codegen::Builder& builder, llvm::Value* index) const;
  Chunk chunk_after(codegen::Builder& builder, const Chunk& first, int rows) const;
  void copy_chunks(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* first, int copies) const;
  void copy_chunk(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, const Chunk& chunk) const;
  void copy_element(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const;
  Pending load_element(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const;
  Element element_at(codegen::Builder& builder, const TileSource& source, llvm::Value* destination, llvm::Value* index) const;

  SharedTile tile_;
  DType tile_dtype_, source_dtype_;
  Copy copy_;
  int threads_;
  int units_in_row_;  ///< chunks or elements
  llvm::Value *thread_ = nullptr, *row_stride_ = nullptr, *column_stride_ = nullptr;
  llvm::Value* row_bytes_ = nullptr;   ///< of the source, i64
  llvm::Value* along_rows_ = nullptr;  ///< neighbouring threads take neighbouring rows, since those are neighbours in memory
};

}  // namespace dyn::ptx
