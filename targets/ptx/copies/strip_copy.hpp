#pragma once
// Emits IR that copies tiles of windows of few channels by way of strips (StripLayout).

#include "targets/ptx/copies/column_copy.hpp"
#include "targets/ptx/copies/window_copy.hpp"
#include "targets/ptx/tile/strip_layout.hpp"

namespace dyn::ptx {

/// At a ticket's start threads copy the block's strips to shared memory, a warp a piece of a strip,
/// each lane 4 bytes, and wait for them; a table tells where each row's window begins there. Tiles
/// are copied from the strips, element by element.
class StripCopy final : public ColumnCopy {
 public:
  StripCopy(const SharedTile& tile, const PieceCopies& copies, int threads, WindowLayout layout,
            StripLayout strips);

  /// Computes the thread's part, at the builder's place. `table`, `strips`: ptr addrspace(3) to 4
  /// bytes for each row of the tile, and to the strips.
  void prepare(codegen::Builder& builder, llvm::Value* thread, const WindowValues& values,
               llvm::Value* table, llvm::Value* strips);
  Position enter(codegen::Builder& builder, const TileBand& band) override;
  /// Nothing: tiles are copied from shared memory.
  std::vector<llvm::Value*> band() const override { return {}; }
  void set_band(std::span<llvm::Value* const>) override {}

 private:
  /// Windows of a block that are neighbours in one row of windows, all i32.
  struct WindowPiece {
    llvm::Value* line;    ///< the row, of all rows of windows
    llvm::Value* begin;   ///< its first window in the row
    llvm::Value* before;  ///< windows of the block before it
    llvm::Value* place;   ///< element of a strip that its first word goes to
    llvm::Value* from;  ///< element of the tensor's row with which its first window begins; may be
                        ///< outside
  };
  /// Where a strip of a piece begins in the tensor.
  struct Source {
    llvm::Value* address;  ///< of element 0 of the tensor's row
    llvm::Value* exists;   ///< i1: the row is in the tensor
  };
  void enter_block(codegen::Builder& builder, const TileBand& band);
  WindowPiece piece(codegen::Builder& builder, llvm::Value* index) const;
  void write_entry(codegen::Builder& builder, llvm::Value* row) const;
  void copy_segment(codegen::Builder& builder, llvm::Value* index) const;
  Source source_of(codegen::Builder& builder, llvm::Value* line, llvm::Value* strip) const;
  void copy_word(codegen::Builder& builder, llvm::Value* place, llvm::Value* from,
                 llvm::Value* exists) const;
  /// The element (i32) that begins the word of `element`.
  llvm::Value* word_of(codegen::Builder& builder, llvm::Value* element) const;
  llvm::Value* strip_bytes(codegen::Builder& builder, llvm::Value* elements) const;
  PieceOfRow pieces_of(codegen::Builder& builder, const Column& column,
                       std::span<llvm::Value* const> digits, llvm::Value* step) const override;

  WindowLayout layout_;
  StripLayout strip_;
  WindowValues values_;
  llvm::Value *table_ = nullptr, *strips_ = nullptr;
  llvm::Value *origin_ = nullptr, *first_ = nullptr, *rows_ = nullptr, *line_ = nullptr,
              *begin_ = nullptr;    ///< of the block: address 0, its first window, the existing
                                    ///< ones, the first one's row of windows and place there
  llvm::Value* in_line_ = nullptr;  ///< windows of a row, i32
};

}  // namespace dyn::ptx
