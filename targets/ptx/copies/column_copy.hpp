#pragma once
// Copies of tiles whose rows lie anywhere: a thread copies units of one column of the tile, or of a
// few, and the columns' k advances from tile to tile without a division.

#include <functional>
#include <span>
#include <vector>

#include "targets/ptx/copies/operand_copy.hpp"
#include "targets/ptx/tile/shared_tile.hpp"

namespace dyn::ptx {

/// The low word of an i64.
inline llvm::Value* low_word(codegen::Builder& builder, llvm::Value* value) {
  return builder.CreateTrunc(value, builder.getInt32Ty());
}

/// Rows of a tile are along m, elements of a row along k. k has digits, the innermost first; at
/// each tile a thread adds block_k to those of its columns, with carries.
class ColumnCopy : public OperandCopy {
 public:
  /// A position is the digits of k of each column.
  Position next(codegen::Builder& builder, const Position& position) const override;
  void issue(codegen::Builder& builder, const Position& position, llvm::Value* step,
             llvm::Value* destination) const override;

 protected:
  /// Rows of one column, of which a thread has some.
  struct Column {
    llvm::Value* unit;                 ///< i32, of the tile's units in a row
    std::vector<llvm::Value*> places;  ///< byte offsets of its first rows in the tile, i32
    std::vector<llvm::Value*> first;   ///< digits of k in a band's first tile
  };
  /// The piece of a row (i32, in the tile) that goes to `place`, an address in shared memory.
  using PieceOfRow = std::function<Piece(llvm::Value* row, llvm::Value* place)>;

  ColumnCopy(const SharedTile& tile, const PieceCopies& copies, int threads);
  /// Computes the thread's part, at the builder's place. `depth`: the extent of k, i32; `radices`:
  /// of each digit but the last, i32.
  void prepare_columns(codegen::Builder& builder, llvm::Value* thread, llvm::Value* depth,
                       std::vector<llvm::Value*> radices);
  /// The position of tile `step` of a band; nullptr: of the first one.
  Position position_at(codegen::Builder& builder, llvm::Value* step) const;
  /// The pieces of one column at a step; `digits` are those of its k.
  virtual PieceOfRow pieces_of(codegen::Builder& builder, const Column& column,
                               std::span<llvm::Value* const> digits, llvm::Value* step) const = 0;
  /// Element of K with which the column's unit begins at a step, i32.
  llvm::Value* k_of(codegen::Builder& builder, const Column& column, llvm::Value* step) const;

  const SharedTile& tile() const { return tile_; }
  int threads() const { return threads_; }
  llvm::Value* thread() const { return thread_; }
  llvm::Value* depth() const { return depth_; }

 private:
  std::size_t digits() const { return radices_.size() + 1; }
  int block_k() const;
  std::vector<llvm::Value*> digits_of(codegen::Builder& builder, llvm::Value* k) const;
  llvm::Value* place_of(codegen::Builder& builder, const Column& column, llvm::Value* row) const;
  llvm::Value* row_at(codegen::Builder& builder, llvm::Value* trip, int index) const;
  void copy_rows(codegen::Builder& builder, const Column& column, const PieceOfRow& piece_of,
                 llvm::Value* destination, llvm::Value* trip, int count) const;

  SharedTile tile_;
  int threads_;
  int units_in_row_;        ///< chunks or elements
  int rows_between_;        ///< from one row of a thread to its next
  int rows_;                ///< of a thread in a column
  bool is_beyond_ = false;  ///< some of them may be beyond the tile
  llvm::Value *thread_ = nullptr, *first_row_ = nullptr, *depth_ = nullptr;
  std::vector<llvm::Value*> radices_;
  std::vector<llvm::Value*> increment_;  ///< digits of block_k
  std::vector<Column> columns_;
};

}  // namespace dyn::ptx
