// Slices of reductions: the part of the reduction axes that a ticket has, its partial results in
// the memory that threads share, and the second stage, which merges them in the order of the
// slices.

#include "targets/cpu/loop/code.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

const SliceSlots::Axis* LoopCode::slice_of(int axis) const {
  for (const SliceSlots::Axis& sliced : loop_.sliced->axes)
    if (sliced.axis == axis) return &sliced;
  return nullptr;
}

LoopCode::Part LoopCode::part_of(int axis) {
  for (const auto& [divided, part] : parts_)
    if (divided == axis) return part;
  return {number(0), extent(axis)};
}

void LoopCode::when_whole(const std::function<void()>& emit_it) {
  if (!loop_.sliced || merging_) return emit_it();
  codegen::Conditional whole(
      builder_, builder_.CreateICmpEQ(operands_->slot(loop_.sliced->slices), number(1)), "whole");
  emit_it();
  whole.close();
}

Value* LoopCode::slice() {
  Value* index = number(0);
  for (const auto& [axis, digit] : slice_digits_)
    index = builder_.CreateAdd(builder_.CreateMul(index, operands_->slot(slice_of(axis)->chunks)),
                               digit);
  return index;
}

Value* LoopCode::row() {
  Value* index = number(0);
  for (const auto& [axis, digit] : row_digits_)
    index = builder_.CreateAdd(builder_.CreateMul(index, extent(axis)), digit);
  return index;
}

Value* LoopCode::partial_at(std::size_t reduction, Value* slice, Value* lane) {
  Value* before = builder_.CreateMul(operands_->slot(loop_.sliced->slices),
                                     number(static_cast<std::int64_t>(reduction)));
  Value* of_slice = builder_.CreateMul(builder_.CreateAdd(before, slice),
                                       operands_->slot(loop_.sliced->slice_elements));
  Value* of_row = builder_.CreateMul(row(), operands_->slot(loop_.sliced->row_elements));
  return builder_.CreateAdd(builder_.CreateAdd(of_slice, of_row), lane);
}

/// Accumulators of a slice are its partial results.
void LoopCode::accumulate_in_partials() {
  Value* slices = operands_->slot(loop_.sliced->slices);
  Value* cut = builder_.CreateICmpNE(slices, number(1));
  Value* of_reduction = builder_.CreateMul(slices, operands_->slot(loop_.sliced->slice_elements));
  scratch_ = builder_.CreateSelect(cut, element_at(shared_, partial_at(0, slice(), lanes_.begin)),
                                   scratch_);
  accumulators_row_ = builder_.CreateSelect(cut, of_reduction, accumulators_row_);
}

void LoopCode::store_partials(const Values& results) {
  codegen::Conditional cut(builder_,
                           builder_.CreateICmpNE(operands_->slot(loop_.sliced->slices), number(1)),
                           "partials");
  Value* of_ticket = slice();
  for (std::size_t r = 0; r < results.size(); ++r)
    store_units(results[r], element_at(shared_, partial_at(r, of_ticket, number(0))));
  cut.close();
}

void LoopCode::merge_lanes(const LoopPass& pass) {
  CountedLoop lanes(builder_, lanes_.begin, lanes_.end, number(width_), "merge");
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    store_scratch(merge_slices(pass.reductions[r], r, lanes.index(), width_),
                  accumulator_at(pass.reductions[r], lanes.index()));
  lanes.close();
}

LoopCode::Values LoopCode::merged_row(const LoopPass& pass) {
  Values results;
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    results.push_back(merge_slices(pass.reductions[r], r, number(0), 1));
  return results;
}

Value* LoopCode::merge_slices(int expr, std::size_t number_of_reduction, Value* lane, int width) {
  const DType dtype = problem_.exprs[static_cast<std::size_t>(expr)].dtype;
  Value* none = reduction(expr).neutral(width);
  CountedLoop slices(builder_, number(0), operands_->slot(loop_.sliced->slices), number(1), "slice",
                     std::span(&none, 1));
  Value* partial = element_at(shared_, partial_at(number_of_reduction, slices.index(), lane));
  Value* merged = reduction(expr).step(slices.carried(0), load_units(dtype, partial, width));
  return slices.close(std::span(&merged, 1))[0];
}

}  // namespace dyn::cpu
