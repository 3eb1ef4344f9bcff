#include "targets/cpu/move/strip_copy.hpp"

#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::Builder;
using codegen::CountedLoop;
using llvm::Value;

Strip::Strip(Builder& builder, const codegen::Isa& isa, const WindowBlock& block)
    : builder_(builder), isa_(isa), block_(block) {
  const WindowAxisValues &down = last(1), &along = last(0);
  Value* one = number(1);
  const auto reach = [&](const WindowAxisValues& axis, Value* count) {
    return builder_.CreateAdd(builder_.CreateMul(builder_.CreateSub(count, one), axis.stride),
                              window_reach(axis));
  };
  Value* last_row = builder_.CreateSub(builder_.CreateAdd(block_.first_row, block_.rows), one);
  first_ = builder_.CreateUDiv(block_.first_row, along.count);
  last_ = builder_.CreateUDiv(last_row, along.count);
  Value* is_one_row = builder_.CreateICmpEQ(first_, last_);
  Value* first_window = builder_.CreateSelect(
      is_one_row, builder_.CreateURem(block_.first_row, along.count), number(0));
  first_column_ =
      builder_.CreateMul(builder_.CreateMul(first_window, along.stride), block_.channels);
  row_size_ = builder_.CreateMul(
      reach(along, builder_.CreateSelect(is_one_row, block_.rows, along.count)), block_.channels);
  rows_of_index_ = reach(down, down.count);
  begin_ = first_strip_row(first_);
  segment_stride_ = builder_.CreateMul(down.dilation, row_size_);
  segment_size_ = builder_.CreateMul(along.size, block_.channels);
}

/// The elements that one window spans along an axis, its gaps included.
Value* Strip::window_reach(const WindowAxisValues& axis) const {
  return builder_.CreateAdd(
      builder_.CreateMul(builder_.CreateSub(axis.size, number(1)), axis.dilation), number(1));
}

/// The padded row, counted over all indices of the outer axes, in which a row of windows begins.
Value* Strip::first_strip_row(Value* window_row) const {
  const WindowAxisValues& down = last(1);
  Value* index = builder_.CreateUDiv(window_row, down.count);
  return builder_.CreateAdd(
      builder_.CreateMul(index, rows_of_index_),
      builder_.CreateMul(builder_.CreateURem(window_row, down.count), down.stride));
}

void Strip::emit_copy(Value* strip, Value* offsets) const {
  emit_rows(strip);
  emit_offsets(offsets);
}

void Strip::emit_rows(Value* strip) const {
  const WindowAxisValues &down = last(1), &along = last(0);
  Value* count =
      builder_.CreateAdd(builder_.CreateSub(first_strip_row(last_), begin_), window_reach(down));
  const auto within = [&](Value* place) {
    place = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax,
                                           builder_.CreateSub(place, first_column_), number(0));
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, place, row_size_);
  };
  Value* padding = builder_.CreateMul(along.before, block_.channels);
  Value* left = within(padding);
  Value* right =
      within(builder_.CreateAdd(padding, builder_.CreateMul(along.extent, block_.channels)));
  CountedLoop rows(builder_, number(0), count, number(1), "strip_row");
  Value* to = element(strip, builder_.CreateMul(rows.index(), row_size_));
  Value* padded = builder_.CreateAdd(begin_, rows.index());
  Value* place = builder_.CreateSub(builder_.CreateURem(padded, rows_of_index_), down.before);
  Value* index = builder_.CreateUDiv(padded, rows_of_index_);
  Value* offset = builder_.CreateAdd(builder_.CreateMul(place, down.step),
                                     builder_.CreateSub(first_column_, padding));
  Value* exists = builder_.CreateICmpULT(place, down.extent);
  for (std::size_t i = block_.axes.size() - 2; i-- > 0;) {
    const WindowAxisValues& axis = block_.axes[i];
    Value* window = i == 0 ? index : builder_.CreateURem(index, axis.count);
    index = builder_.CreateUDiv(index, axis.count);
    Value* outer = builder_.CreateSub(builder_.CreateMul(window, axis.stride), axis.before);
    offset = builder_.CreateAdd(offset, builder_.CreateMul(outer, axis.step));
    exists = builder_.CreateAnd(exists, builder_.CreateICmpULT(outer, axis.extent));
  }
  Value* from = builder_.CreateSelect(exists, left, number(0));
  Value* until = builder_.CreateSelect(exists, right, number(0));
  fill_elements(builder_, isa_, block_.outside, to, from);
  move_elements(builder_, isa_, element(block_.data, builder_.CreateAdd(offset, from)),
                element(to, from), builder_.CreateSub(until, from));
  block_.finish(builder_, element(to, from), number(0), builder_.CreateSub(until, from));
  fill_elements(builder_, isa_, block_.outside, element(to, until),
                builder_.CreateSub(row_size_, until));
  rows.close();
}

void Strip::emit_offsets(Value* offsets) const {
  const WindowAxisValues& along = last(0);
  Value* step = builder_.CreateMul(along.stride, block_.channels);
  Value* end = builder_.CreateAdd(block_.first_row, block_.rows);
  CountedLoop window_rows(builder_, first_, builder_.CreateAdd(last_, number(1)), number(1),
                          "window_row");
  Value* before = builder_.CreateMul(window_rows.index(), along.count);
  Value* row = builder_.CreateMul(builder_.CreateSub(first_strip_row(window_rows.index()), begin_),
                                  row_size_);
  Value* first = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smax, builder_.CreateSub(block_.first_row, before), number(0));
  Value* until = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                builder_.CreateSub(end, before), along.count);
  CountedLoop windows(builder_, first, until, number(1), "window");
  Value* at = builder_.CreateSub(builder_.CreateAdd(before, windows.index()), block_.first_row);
  Value* begin = builder_.CreateSub(
      builder_.CreateAdd(row, builder_.CreateMul(windows.index(), step)), first_column_);
  builder_.CreateAlignedStore(begin, builder_.CreateGEP(builder_.getInt64Ty(), offsets, at),
                              llvm::Align(8));
  windows.close();
  window_rows.close();
}

}  // namespace dyn::cpu
