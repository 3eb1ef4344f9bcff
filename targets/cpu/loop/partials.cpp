#include "targets/cpu/loop/partials.hpp"

#include <algorithm>

#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

const SliceSlots::Axis& sliced_axis(const LoopProblem& loop, int axis) {
  return *std::ranges::find(loop.sliced->axes, axis, &SliceSlots::Axis::axis);
}

void when_whole(const LoopContext& context, const std::function<void()>& emit_it) {
  if (!context.slices()) return emit_it();
  Value* slices = context.operands.slot(context.loop.sliced->slices);
  codegen::Conditional whole(context.builder,
                             context.builder.CreateICmpEQ(slices, context.number(1)), "whole");
  emit_it();
  whole.close();
}

Value* LoopPartials::slice() const {
  Value* index = context_.number(0);
  for (const auto& [axis, digit] : ticket_.slice_digits) {
    Value* chunks = context_.operands.slot(sliced_axis(context_.loop, axis).chunks);
    index = builder_.CreateAdd(builder_.CreateMul(index, chunks), digit);
  }
  return index;
}

Value* LoopPartials::row() const {
  Value* index = context_.number(0);
  for (const auto& [axis, digit] : ticket_.row)
    index = builder_.CreateAdd(builder_.CreateMul(index, context_.extent(axis)), digit);
  return index;
}

Value* LoopPartials::place(std::size_t reduction, Value* slice, Value* lane) const {
  const SliceSlots& slots = *context_.loop.sliced;
  Value* before = builder_.CreateMul(context_.operands.slot(slots.slices),
                                     context_.number(static_cast<std::int64_t>(reduction)));
  Value* of_slice = builder_.CreateMul(builder_.CreateAdd(before, slice),
                                       context_.operands.slot(slots.slice_elements));
  Value* of_row = builder_.CreateMul(row(), context_.operands.slot(slots.row_elements));
  return builder_.CreateAdd(builder_.CreateAdd(of_slice, of_row), lane);
}

AccumulatorMemory LoopPartials::accumulators(const AccumulatorMemory& whole, Value* begin) const {
  const SliceSlots& slots = *context_.loop.sliced;
  Value* slices = context_.operands.slot(slots.slices);
  Value* cut = builder_.CreateICmpNE(slices, context_.number(1));
  Value* of_reduction = builder_.CreateMul(slices, context_.operands.slot(slots.slice_elements));
  Value* partials = shared_.address(place(0, slice(), begin));
  Value* memory = builder_.CreateSelect(cut, partials, whole.memory);
  return {memory, builder_.CreateSelect(cut, of_reduction, whole.row)};
}

void LoopPartials::store(const LoopValues& results) const {
  Value* slices = context_.operands.slot(context_.loop.sliced->slices);
  codegen::Conditional cut(builder_, builder_.CreateICmpNE(slices, context_.number(1)), "partials");
  Value* of_ticket = slice();
  for (std::size_t r = 0; r < results.size(); ++r)
    shared_.store(results[r], place(r, of_ticket, context_.number(0)));
  cut.close();
}

LoopValues LoopPartials::merged_row(const LoopPass& pass) const {
  LoopValues results;
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    results.push_back(merged(pass.reductions[r], r, context_.number(0), 1));
  return results;
}

Value* LoopPartials::merged(int expr, std::size_t reduction, Value* lane, int width) const {
  codegen::Reduction arithmetic = context_.reduction(expr);
  Value* none = arithmetic.neutral(width);
  CountedLoop slices(builder_, context_.number(0),
                     context_.operands.slot(context_.loop.sliced->slices), context_.number(1),
                     "slice", std::span(&none, 1));
  Value* partial =
      shared_.load(context_.expr(expr).dtype, place(reduction, slices.index(), lane), width);
  Value* next = arithmetic.step(slices.carried(0), partial);
  return slices.close(std::span(&next, 1))[0];
}

}  // namespace dyn::cpu
