#pragma once
// Emits IR that copies tiles of windows from a tensor to shared memory: an implicit matrix, of
// which there is no element anywhere else.

#include <span>
#include <vector>

#include "targets/ptx/copies/column_copy.hpp"
#include "targets/ptx/tile/window_layout.hpp"

namespace dyn::ptx {

/// A rkernel::WindowRows at run time, all i64.
struct WindowValues {
  struct Axis {
    llvm::Value *count, *size, *stride, *dilation, *before, *extent, *step;
  };
  std::vector<Axis> axes;  ///< outermost first
  llvm::Value *channels = nullptr, *channel_step = nullptr;
  llvm::Value* depth = nullptr;     ///< taps * channels
  llvm::Value* readable = nullptr;  ///< global memory of 4 bytes that can be read
};

/// Copies a tile's rows, which are windows along m, of block_k elements, which are channels of
/// taps.
///
/// At a ticket's start threads write where each row's window begins to a table in shared memory.
/// The digits of a column's k are the channel and the tap along each axis: their distance is added
/// to that of each row. Chunks need channels, or runs, side by side, in whole ones.
class WindowCopy final : public ColumnCopy {
 public:
  /// `m`: the axis that rows run along.
  WindowCopy(const SharedTile& tile, const PieceCopies& copies, int threads, int m,
             WindowLayout layout);

  /// Computes the thread's part, at the builder's place. `table`: ptr addrspace(3) to an entry for
  /// each row of the tile.
  void prepare(codegen::Builder& builder, llvm::Value* thread, const WindowValues& values,
               llvm::Value* table);
  Position enter(codegen::Builder& builder, const TileBand& band) override;
  std::vector<llvm::Value*> band() const override { return {origin_}; }
  void set_band(std::span<llvm::Value* const> values) override { origin_ = values[0]; }

 private:
  /// A digit of k.
  struct Digit {
    llvm::Value* radix = nullptr;     ///< i32
    llvm::Value* distance = nullptr;  ///< bytes from one to the next, i64
    llvm::Value* dilation = nullptr;  ///< of a tap, i32
    int coordinate = -1;  ///< the checked axis that a tap moves along; -1: the channel, or none
  };
  /// How far the elements of one column lie from where the windows begin.
  struct Tap {
    llvm::Value* from;                   ///< the address for a window that begins at 0
    std::vector<llvm::Value*> distance;  ///< along each checked axis, i32
  };
  void make_digits(codegen::Builder& builder, const WindowValues& values);
  void write_entry(codegen::Builder& builder, const TileBand& band, llvm::Value* row);
  llvm::Value* entry_of(codegen::Builder& builder, llvm::Value* offset,
                        std::span<llvm::Value* const> coordinates) const;
  llvm::FixedVectorType* entry_type(codegen::Builder& builder) const;
  llvm::Value* entry_at(codegen::Builder& builder, llvm::Value* row) const;
  std::vector<llvm::Value*> parts_of_row(codegen::Builder& builder, const TileBand& band,
                                         llvm::Value* row) const;
  Tap tap_at(codegen::Builder& builder, const Column& column, std::span<llvm::Value* const> digits,
             llvm::Value* step) const;
  PieceOfRow pieces_of(codegen::Builder& builder, const Column& column,
                       std::span<llvm::Value* const> digits, llvm::Value* step) const override;
  Piece piece_at(codegen::Builder& builder, const Tap& tap, llvm::Value* row,
                 llvm::Value* place) const;

  int m_;
  WindowLayout layout_;
  WindowValues values_;
  llvm::Value *table_ = nullptr, *origin_ = nullptr;
  std::vector<Digit> digits_;  ///< the channel, or the element of a run (WindowLayout::in_runs),
                               ///< then taps from the innermost other axis on
  std::vector<llvm::Value*> extents_;  ///< of checked axes, i32
};

}  // namespace dyn::ptx
