#pragma once
// The rows of a tensor in which a block's windows lie, brought into scratch with their padding, as
// IR: each once, however many windows it is in.

#include "targets/cpu/move/window_copy.hpp"

namespace dyn::cpu {

/// A block of windows that lie in a strip (rkernel::lie_in_strips). k0 and k_size of the block are
/// not used here. Rows of the strip are those that the windows of one index of the outer axes
/// touch, with their padding, one index after the other. A block within one row of windows has only
/// the columns that these touch.
class Strip {
 public:
  /// Computes here what later calls use.
  Strip(codegen::Builder& builder, const codegen::Isa& isa, const WindowBlock& block);

  /// Elements from one row of taps of a window to the next, and of one such row.
  llvm::Value* segment_stride() const { return segment_stride_; }
  llvm::Value* segment_size() const { return segment_size_; }
  llvm::Value* segments() const { return last(1).size; }

  const WindowBlock& block() const { return block_; }

  /// Writes the strip (f32), and for each row of the block where its window begins, in elements
  /// (i64).
  void emit_copy(llvm::Value* strip, llvm::Value* offsets) const;

 private:
  const WindowAxisValues& last(std::size_t after) const {
    return block_.axes[block_.axes.size() - 1 - after];
  }
  llvm::Value* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Value* element(llvm::Value* base, llvm::Value* index) const {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }
  llvm::Value* window_reach(const WindowAxisValues& axis) const;
  llvm::Value* first_strip_row(llvm::Value* window_row) const;
  void emit_rows(llvm::Value* strip) const;
  void emit_offsets(llvm::Value* offsets) const;

  codegen::Builder& builder_;
  const codegen::Isa& isa_;
  WindowBlock block_;
  llvm::Value *first_, *last_;  ///< rows of windows: indices of all axes but the last
  llvm::Value *rows_of_index_,
      *begin_;  ///< padded rows of one index of the outer axes; the strip's first
  llvm::Value *first_column_, *row_size_;  ///< of the padded row, in elements
  llvm::Value *segment_stride_, *segment_size_;
};

}  // namespace dyn::cpu
