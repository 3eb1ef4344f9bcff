// Lanes along a reduction axis: a ticket is one row, read by one pass after the other.

#include <algorithm>

#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"
#include "targets/cpu/loop/partials.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

namespace {

/// Sizes of the scratch of a row, in elements.
struct RowScratch {
  Value* padded_lanes;    ///< the lanes in whole blocks
  Value* value_elements;  ///< all elements of one kept expression
};

RowScratch row_scratch(const LoopContext& context) {
  codegen::Builder& builder = context.builder;
  Value* lanes = context.extent(context.problem.lane_axis);
  Value* padded = context.rounded_down(
      builder.CreateAdd(lanes, context.number(reduction_lanes - 1)), reduction_lanes);
  Value* elements = padded;
  for (const int axis : context.registers.serial_axes)
    elements = builder.CreateMul(elements, context.extent(axis));
  return {padded, elements};
}

class ReducedRow {
 public:
  ReducedRow(const LoopContext& context, const LoopTicket& ticket, const RowScratch& scratch)
      : context_(context),
        builder_(context.builder),
        slice_(ticket.slice),
        scratch_(scratch),
        bodies_(context) {}

  /// The results of a pass, a scalar for each reduction.
  LoopValues results(const LoopPass& pass) const;

 private:
  /// One row of lanes, from the accumulators before it to those after it.
  LoopValues over_lanes(const LoopPass& pass, const LoopValues& initial, const KeptRow& kept) const;
  void store_lanes(const LoopPass& pass, const KeptRow& kept) const;
  LoopValues whole_blocks(const LoopPass& pass, const LoopRange& lanes, const LoopValues& initial,
                          const KeptRow& kept) const;
  LoopValues last_vectors(const LoopPass& pass, const LoopRange& lanes, const LoopValues& initial,
                          const KeptRow& kept) const;
  /// What the body of vector `index` of a block asks for of the next row.
  void prefetch_next_row(const LoopPass& pass, const LoopBody& body, int index) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  const AxisRanges& slice_;
  const RowScratch scratch_;
  const LoopBodies bodies_;
};

LoopValues ReducedRow::results(const LoopPass& pass) const {
  context_.compiler.enter(context_.registers.inner, pass.roots);
  const auto lane_loops = [&](const LoopValues& accumulators, Value* point) {
    const KeptRow kept{scratch_.value_elements, builder_.CreateMul(point, scratch_.padded_lanes)};
    return over_lanes(pass, accumulators, kept);
  };
  const int vectors = context_.vectors();
  const LoopValues accumulators =
      bodies_.over_serial_axes(pass, context_.registers.serial_axes, slice_,
                               bodies_.neutral(pass, vectors), context_.number(0), lane_loops);
  context_.compiler.leave();
  const auto parts = static_cast<std::size_t>(vectors);
  LoopValues results;
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    results.push_back(context_.reduction(pass.reductions[r])
                          .merge(std::span<Value* const>(accumulators).subspan(r * parts, parts)));
  return results;
}

LoopValues ReducedRow::over_lanes(const LoopPass& pass, const LoopValues& initial,
                                  const KeptRow& kept) const {
  if (pass.reductions.empty() && pass.saved.empty()) {
    store_lanes(pass, kept);
    return {};
  }
  const LoopRange part = context_.range_of(slice_, context_.problem.lane_axis);
  Value* count = builder_.CreateSub(part.end, part.begin);
  Value* whole =
      builder_.CreateAdd(part.begin, context_.rounded_down(count, context_.registers.block));
  const LoopValues accumulators = whole_blocks(pass, {part.begin, whole}, initial, kept);
  return last_vectors(pass, {whole, part.end}, accumulators, kept);
}

/// The lane of an element matters only to sums, so stores may begin anywhere.
void ReducedRow::store_lanes(const LoopPass& pass, const KeptRow& kept) const {
  const LaneRanges ranges(context_);
  const LoopRange all{context_.number(0), context_.extent(context_.problem.lane_axis)};
  ranges.over(all, ranges.streaming(pass.stores, all), context_.vectors(),
              [&](Value* begin, int count, Value* mask) {
                for (int i = 0; i < count; ++i) {
                  const LoopBody body{
                      builder_.CreateAdd(begin, context_.number(i * context_.width)), mask, {}};
                  if (mask == nullptr) prefetch_next_row(pass, body, i);
                  bodies_.sweep(pass, body, 0, 1, {}, kept);
                }
              });
}

LoopValues ReducedRow::whole_blocks(const LoopPass& pass, const LoopRange& lanes,
                                    const LoopValues& initial, const KeptRow& kept) const {
  CountedLoop main(builder_, lanes.begin, lanes.end, context_.number(context_.registers.block),
                   "lanes", initial);
  LoopValues accumulators;
  for (std::size_t i = 0; i < initial.size(); ++i) accumulators.push_back(main.carried(i));
  const int count = context_.vectors();
  for (int i = 0; i < count; ++i) {
    const LoopBody body{
        builder_.CreateAdd(main.index(), context_.number(i * context_.width)), nullptr, {}};
    prefetch_next_row(pass, body, i);
    accumulators = bodies_.sweep(pass, body, static_cast<std::size_t>(i),
                                 static_cast<std::size_t>(count), accumulators, kept);
  }
  return main.close(accumulators);
}

LoopValues ReducedRow::last_vectors(const LoopPass& pass, const LoopRange& lanes,
                                    const LoopValues& initial, const KeptRow& kept) const {
  LoopValues accumulators = initial;
  const int count = context_.vectors();
  for (int i = 0; i < count; ++i) {
    Value* begin = builder_.CreateAdd(lanes.begin, context_.number(i * context_.width));
    codegen::Conditional some(builder_, builder_.CreateICmpSLT(begin, lanes.end), "last_lanes");
    const LoopBody body{begin, context_.mask_until(begin, lanes.end), {}};
    const LoopValues inside = bodies_.sweep(pass, body, static_cast<std::size_t>(i),
                                            static_cast<std::size_t>(count), accumulators, kept);
    accumulators = some.close(inside, accumulators);
  }
  return accumulators;
}

/// The first pass waits for memory, later ones compute: while they do, what the next row's first
/// pass will read comes nearer, spread over all of them, since only so many lines can be on their
/// way at a time. One of the two distances is 0, for a line that is there.
void ReducedRow::prefetch_next_row(const LoopPass& pass, const LoopBody& body, int index) const {
  const auto& passes = context_.passes.passes;
  const auto number = static_cast<int>(&pass - passes.data()),
             later = static_cast<int>(passes.size()) - 1;
  if (number == 0 ||
      index % std::min(later, context_.vectors()) != (number - 1) % context_.vectors())
    return;
  const int axis = context_.next_ticket_axis();
  if (axis < 0) return;
  codegen::Operands& operands = context_.operands;
  for (int operand = 0; operand < static_cast<int>(context_.problem.operands.size()); ++operand) {
    if (!context_.is_streamed_in(operand)) continue;
    bodies_.in_body(body, [&] {
      operands.prefetch_ahead(operand, axis, operands.slot(context_.loop.ahead_slot));
      operands.prefetch_ahead(operand, axis, operands.slot(context_.loop.far_ahead_slot),
                              codegen::CacheLevel::Second);
    });
  }
}

}  // namespace

void emit_reduced_row(const LoopContext& context, const LoopTicket& ticket) {
  context.compiler.enter(context.registers.inner);
  const ReducedRow row(context, ticket, row_scratch(context));
  const LoopBodies bodies(context);
  for (const LoopPass& pass : context.passes.passes) {
    const LoopValues results =
        context.merging() ? LoopPartials(context, ticket).merged_row(pass) : row.results(pass);
    for (std::size_t r = 0; r < pass.reductions.size(); ++r)
      context.compiler.bind(pass.reductions[r], results[r]);
    if (context.slices()) LoopPartials(context, ticket).store(results);
  }
  when_whole(context, [&] {
    context.compiler.enter(0, context.passes.final_roots());
    bodies.store_all(context.passes.final_stores);
    context.compiler.leave();
  });
  context.compiler.leave();
}

}  // namespace dyn::cpu
