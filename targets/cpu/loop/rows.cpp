// Lanes along a reduction axis: a ticket is one row, read by one pass after the other.

#include <algorithm>

#include "targets/cpu/loop/code.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using codegen::StrideClass;
using llvm::Value;

void LoopCode::emit_reduced_row() {
  compiler_->enter(inner_);
  Value* lanes = extent(problem_.lane_axis);
  padded_lanes_ =
      rounded_down(builder_.CreateAdd(lanes, number(reduction_lanes - 1)), reduction_lanes);
  scratch_size_ = padded_lanes_;
  for (const int axis : serial_axes_)
    scratch_size_ = builder_.CreateMul(scratch_size_, extent(axis));
  for (const LoopPass& pass : passes_.passes) {
    const Values results = merging_ ? merged_row(pass) : reduced_row(pass);
    for (std::size_t r = 0; r < pass.reductions.size(); ++r)
      compiler_->bind(pass.reductions[r], results[r]);
    if (loop_.sliced && !merging_) store_partials(results);
  }
  when_whole([&] {
    compiler_->enter(0, passes_.final_roots());
    store_all(passes_.final_stores);
    compiler_->leave();
  });
  compiler_->leave();
}

/// The results of a pass, a scalar for each reduction.
LoopCode::Values LoopCode::reduced_row(const LoopPass& pass) {
  compiler_->enter(inner_, pass.roots);
  const auto lane_loops = [&](const Values& accumulators, Value* row) {
    return over_lanes(pass, accumulators, row);
  };
  const Values accumulators =
      over_serial_axes(pass, 0, neutral(pass, vectors()), number(0), lane_loops);
  compiler_->leave();
  const auto parts = static_cast<std::size_t>(vectors());
  Values results;
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    results.push_back(reduction(pass.reductions[r])
                          .merge(std::span<Value* const>(accumulators).subspan(r * parts, parts)));
  return results;
}

LoopCode::Values LoopCode::over_lanes(const LoopPass& pass, const Values& initial, Value* row) {
  const std::size_t count = static_cast<std::size_t>(vectors());
  if (pass.reductions.empty() && pass.saved.empty()) {
    // Which lane an element has matters only to sums.
    const Part all{number(0), extent(problem_.lane_axis)};
    over_range(all, streaming(pass.stores, all), vectors(),
               [&](Value* begin, int vectors_here, Value* mask) {
                 Values none;
                 for (int i = 0; i < vectors_here; ++i) {
                   const Body body{builder_.CreateAdd(begin, number(i * width_)), mask, {}};
                   if (mask == nullptr) prefetch_next_row(pass, body, i);
                   sweep(pass, body, 0, 1, none, row);
                 }
               });
    return {};
  }
  const Part part = part_of(problem_.lane_axis);
  Value* whole = builder_.CreateAdd(part.begin,
                                    rounded_down(builder_.CreateSub(part.end, part.begin), block_));
  CountedLoop main(builder_, part.begin, whole, number(block_), "lanes", initial);
  Values accumulators;
  for (std::size_t i = 0; i < initial.size(); ++i) accumulators.push_back(main.carried(i));
  for (std::size_t i = 0; i < count; ++i) {
    const Body body{
        builder_.CreateAdd(main.index(), number(static_cast<int>(i) * width_)), nullptr, {}};
    prefetch_next_row(pass, body, static_cast<int>(i));
    sweep(pass, body, i, count, accumulators, row);
  }
  accumulators = main.close(accumulators);
  for (std::size_t i = 0; i < count; ++i) {
    Value* begin = builder_.CreateAdd(whole, number(static_cast<int>(i) * width_));
    codegen::Conditional some(builder_, builder_.CreateICmpSLT(begin, part.end), "last_lanes");
    const Body body{begin, mask_until(begin, part.end), {}};
    Values inside = accumulators;
    sweep(pass, body, i, count, inside, row);
    accumulators = some.close(inside, accumulators);
  }
  return accumulators;
}

/// The first pass waits for memory, later ones compute: while they do, what the next row's first
/// pass will read comes nearer, spread over all of them, since only so many lines can be on their
/// way at a time. One of the two distances is 0, for a line that is there.
void LoopCode::prefetch_next_row(const LoopPass& pass, const Body& body, int index) {
  const auto number = static_cast<int>(&pass - passes_.passes.data()),
             later = static_cast<int>(passes_.passes.size()) - 1;
  if (number == 0 || index % std::min(later, vectors()) != (number - 1) % vectors()) return;
  const int axis = next_ticket_axis();
  if (axis < 0) return;
  for (int operand = 0; operand < static_cast<int>(problem_.operands.size()); ++operand) {
    if (!is_streamed_in(operand)) continue;
    in_body(body, [&] {
      operands_->prefetch_ahead(operand, axis, operands_->slot(loop_.ahead_slot));
      operands_->prefetch_ahead(operand, axis, operands_->slot(loop_.far_ahead_slot),
                                codegen::CacheLevel::Second);
    });
  }
}

/// Place in scratch of a kept expression's element: all elements of the reduction axes, the lane
/// axis padded to whole blocks.
Value* LoopCode::kept(int expr, Value* row, Value* begin) {
  std::size_t position = 0;
  while (passes_.scratch[position] != expr) ++position;
  Value* start = builder_.CreateMul(scratch_size_, number(static_cast<std::int64_t>(position)));
  return builder_.CreateAdd(builder_.CreateAdd(start, row), begin);
}

}  // namespace dyn::cpu
