// Lanes along a parallel axis, each with reductions of its own, whose accumulators are in memory.

#include "targets/cpu/loop/accumulators.hpp"
#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

namespace {

constexpr int rows_at_once = LoopProblem::rows_at_once;

/// `count` rows of a serial axis, from `first` on.
struct RowGroup {
  int axis;
  Value* first;
  int count;
};

class ReducedChunk {
 public:
  ReducedChunk(const LoopContext& context, const LoopTicket& ticket, const LoopRange& lanes,
               const AccumulatorMemory& memory)
      : context_(context),
        builder_(context.builder),
        slice_(ticket.slice),
        lanes_(lanes),
        accumulators_(context, memory, lanes.begin),
        bodies_(context),
        ranges_(context) {}

  /// One pass over what the ticket has of the reduction axes.
  void accumulate(const LoopPass& pass) const;
  /// The same in the second stage: merges what the slices have accumulated.
  void merge(const LoopPass& pass, const LoopPartials& partials) const;
  /// Reductions whose results are the same in all lanes are hoisted out of bodies, so they must be
  /// found outside of them.
  void bind_scalars(const LoopPass& pass) const;
  void store_results() const;

 private:
  void reduce_rows(const LoopPass& pass) const;
  void add_rows(const LoopPass& pass, const RowGroup& rows) const;
  void add_only_row(const LoopPass& pass) const;
  void store_rows(const LoopPass& pass) const;
  LoopBody body_at(const LoopPass& pass, Value* begin, int vector, Value* mask) const;
  void ask_for_later_rows(const LoopBody& body, int axis) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  const AxisRanges& slice_;
  const LoopRange& lanes_;
  const LaneAccumulators accumulators_;
  const LoopBodies bodies_;
  const LaneRanges ranges_;
};

void ReducedChunk::accumulate(const LoopPass& pass) const {
  CountedLoop clear(builder_, lanes_.begin, lanes_.end, context_.number(context_.width), "clear");
  accumulators_.store_neutral(pass, clear.index());
  clear.close();
  if (!pass.stores.empty())
    store_rows(pass);
  else if (context_.registers.serial_axes.empty())
    add_only_row(pass);
  else
    reduce_rows(pass);
}

void ReducedChunk::merge(const LoopPass& pass, const LoopPartials& partials) const {
  CountedLoop lanes(builder_, lanes_.begin, lanes_.end, context_.number(context_.width), "merge");
  accumulators_.store_merged(pass, partials, lanes.index());
  lanes.close();
}

void ReducedChunk::bind_scalars(const LoopPass& pass) const {
  for (const int expr : pass.reductions)
    if (!context_.compiler.varies_along_lanes(expr))
      context_.compiler.bind(expr, accumulators_.load(expr, lanes_.begin));
}

void ReducedChunk::store_results() const {
  const std::vector<int>& stores = context_.passes.final_stores;
  ranges_.over(lanes_, ranges_.streaming(stores, lanes_), 1, [&](Value* begin, int, Value* mask) {
    const LoopBody body{begin, mask, accumulators_.results_before(nullptr, begin)};
    bodies_.in_body(body, [&] { bodies_.store_all(stores); });
  });
}

LoopBody ReducedChunk::body_at(const LoopPass& pass, Value* begin, int vector, Value* mask) const {
  Value* lane = builder_.CreateAdd(begin, context_.number(vector * context_.width));
  return {lane, mask, accumulators_.results_before(&pass, lane)};
}

void ReducedChunk::reduce_rows(const LoopPass& pass) const {
  const std::vector<int>& axes = context_.registers.serial_axes;
  const int axis = axes.back();
  const auto outer = std::span(axes).first(axes.size() - 1);
  bodies_.over_serial_axes(
      pass, outer, slice_, {}, nullptr, [&](const LoopValues&, Value*) -> LoopValues {
        Value* grouped = builder_.CreateICmpNE(context_.operands.slot(context_.loop.grouped_slot),
                                               context_.number(0));
        const LoopRange part = context_.range_of(slice_, axis);
        Value* count = builder_.CreateSub(part.end, part.begin);
        Value* in_groups =
            builder_.CreateAdd(part.begin, context_.rounded_down(count, rows_at_once));
        Value* whole = builder_.CreateSelect(grouped, in_groups, part.begin);
        CountedLoop rows(builder_, part.begin, whole, context_.number(rows_at_once), "rows");
        add_rows(pass, {axis, rows.index(), rows_at_once});
        rows.close();
        CountedLoop rest(builder_, whole, part.end, context_.number(1), "last_rows");
        add_rows(pass, {axis, rest.index(), 1});
        rest.close();
        return {};
      });
}

void ReducedChunk::add_rows(const LoopPass& pass, const RowGroup& rows) const {
  // Either several rows or several vectors are independent work.
  ranges_.over(lanes_, {}, rows.count > 1 ? 1 : context_.vectors(),
               [&](Value* begin, int vectors, Value* mask) {
                 for (int vector = 0; vector < vectors; ++vector) {
                   const LoopBody body = body_at(pass, begin, vector, mask);
                   LoopValues sums = accumulators_.load_all(pass, body.begin);
                   for (int i = 0; i < rows.count; ++i) {
                     context_.operands.set_index(
                         rows.axis, builder_.CreateAdd(rows.first, context_.number(i)));
                     if (rows.count > 1) ask_for_later_rows(body, rows.axis);
                     context_.operands.set_reading_ahead(rows.count == 1);
                     sums = bodies_.sweep(pass, body, 0, 1, sums, {});
                     context_.operands.set_reading_ahead(false);
                   }
                   context_.operands.set_index(rows.axis, nullptr);
                   accumulators_.store_all(pass, sums, body.begin);
                 }
               });
}

/// Reduction axes of extent 1 are no axes: there is one row.
void ReducedChunk::add_only_row(const LoopPass& pass) const {
  ranges_.over(lanes_, {}, context_.vectors(), [&](Value* begin, int vectors, Value* mask) {
    for (int vector = 0; vector < vectors; ++vector) {
      const LoopBody body = body_at(pass, begin, vector, mask);
      const LoopValues before = accumulators_.load_all(pass, body.begin);
      context_.operands.set_reading_ahead(true);
      const LoopValues sums = bodies_.sweep(pass, body, 0, 1, before, {});
      context_.operands.set_reading_ahead(false);
      accumulators_.store_all(pass, sums, body.begin);
    }
  });
}

void ReducedChunk::store_rows(const LoopPass& pass) const {
  bodies_.over_serial_axes(
      pass, context_.registers.serial_axes, slice_, {}, nullptr,
      [&](const LoopValues&, Value*) -> LoopValues {
        // Accumulators are stored in whole vectors, which must begin where those of other passes
        // do.
        const std::optional<LaneStreams> stores =
            pass.reductions.empty() ? ranges_.streaming(pass.stores, lanes_) : std::nullopt;
        ranges_.over(lanes_, stores, context_.vectors(), [&](Value* begin, int count, Value* mask) {
          for (int i = 0; i < count; ++i) {
            const LoopBody body = body_at(pass, begin, i, mask);
            const LoopValues before = accumulators_.load_all(pass, body.begin);
            accumulators_.store_all(pass, bodies_.sweep(pass, body, 0, 1, before, {}), body.begin);
          }
        });
        return {};
      });
}

/// Hardware follows few of so many rows.
void ReducedChunk::ask_for_later_rows(const LoopBody& body, int axis) const {
  bodies_.in_body(body, [&] {
    for (int operand = 0; operand < static_cast<int>(context_.problem.operands.size()); ++operand)
      if (context_.is_streamed_in(operand))
        context_.operands.prefetch_ahead(operand, axis,
                                         context_.operands.slot(context_.loop.ahead_slot));
  });
}

AccumulatorMemory accumulator_memory(const LoopContext& context, const LoopTicket& ticket,
                                     const LoopRange& lanes) {
  const AccumulatorMemory whole{context.scratch, context.operands.slot(context.chunk_slot())};
  return context.slices() ? LoopPartials(context, ticket).accumulators(whole, lanes.begin) : whole;
}

}  // namespace

void emit_reduced_chunk(const LoopContext& context, const LoopTicket& ticket,
                        const LoopRange& lanes) {
  context.compiler.enter(context.registers.inner);
  const ReducedChunk chunk(context, ticket, lanes, accumulator_memory(context, ticket, lanes));
  for (const LoopPass& pass : context.passes.passes) {
    if (context.merging())
      chunk.merge(pass, LoopPartials(context, ticket));
    else
      chunk.accumulate(pass);
    chunk.bind_scalars(pass);
  }
  when_whole(context, [&] { chunk.store_results(); });
  context.compiler.leave();
}

}  // namespace dyn::cpu
