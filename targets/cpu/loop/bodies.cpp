#include "targets/cpu/loop/bodies.hpp"

#include "targets/cpu/loop/scratch.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::AxisSet;
using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

void LoopBodies::in_body(const LoopBody& body, const std::function<void()>& emit_it) const {
  const int lane_axis = context_.problem.lane_axis;
  context_.operands.set_index(lane_axis, body.begin);
  context_.operands.set_mask(body.mask);
  context_.compiler.enter(0);
  for (const auto& [expr, value] : body.bound) context_.compiler.bind(expr, value);
  emit_it();
  context_.compiler.leave();
  context_.operands.set_mask(nullptr);
  context_.operands.set_index(lane_axis, nullptr);
}

LoopValues LoopBodies::sweep(const LoopPass& pass, const LoopBody& body, std::size_t index,
                             std::size_t count, const LoopValues& accumulators,
                             const std::optional<KeptRow>& kept) const {
  const ScratchArray scratch(context_, context_.scratch);
  codegen::ExprCompiler& compiler = context_.compiler;
  LoopValues next = accumulators;
  in_body(body, [&] {
    for (const int expr : pass.loaded)
      compiler.bind(expr, scratch.load(context_.expr(expr).dtype,
                                       kept_at(expr, kept.value(), body.begin), context_.width));
    for (std::size_t r = 0; r < pass.reductions.size(); ++r) {
      Value*& accumulator = next[r * count + index];
      // Lanes that do not exist matter only where lanes are merged.
      accumulator = reduced(pass.reductions[r], accumulator,
                            context_.loop.lanes_reduced() ? body.mask : nullptr);
    }
    for (const int expr : pass.saved)
      scratch.store(compiler.compile(expr), kept_at(expr, kept.value(), body.begin));
    store_all(pass.stores);
  });
  return next;
}

Value* LoopBodies::reduced(int expr, Value* accumulator, Value* mask) const {
  const int element = context_.expr(expr).args[0];
  if (context_.loop.isa.fma && mask == nullptr && sums_products(context_.problem, expr)) {
    const auto factor = [&](int i) {
      return context_.compiler.compile(context_.expr(element).args[i]);
    };
    return codegen::multiply_add(builder_, true, factor(0), factor(1), accumulator);
  }
  return context_.reduction(expr).masked_step(accumulator, context_.compiler.compile(element),
                                              mask);
}

void LoopBodies::store_all(const std::vector<int>& stores) const {
  for (const int store : stores)
    context_.compiler.store(context_.problem.stores[static_cast<std::size_t>(store)]);
}

LoopValues LoopBodies::neutral(const LoopPass& pass, int count) const {
  LoopValues values;
  for (const int expr : pass.reductions)
    values.insert(values.end(), static_cast<std::size_t>(count),
                  context_.reduction(expr).neutral(context_.width));
  return values;
}

LoopValues LoopBodies::over_serial_axes(const LoopPass& pass, std::span<const int> axes,
                                        const AxisRanges& ranges, const LoopValues& accumulators,
                                        Value* point, const Innermost& innermost) const {
  return over_axis(pass, axes, context_.registers.inner, ranges, accumulators, point, innermost);
}

LoopValues LoopBodies::over_axis(const LoopPass& pass, std::span<const int> axes, AxisSet inner,
                                 const AxisRanges& ranges, const LoopValues& accumulators,
                                 Value* point, const Innermost& innermost) const {
  if (axes.empty()) return innermost(accumulators, point);
  const int axis = axes.front();
  const AxisSet inside = inner & ~axis_bit(axis);
  const LoopRange range = context_.range_of(ranges, axis);
  CountedLoop loop(builder_, range.begin, range.end, context_.number(1), "reduce", accumulators);
  context_.operands.set_index(axis, loop.index());
  context_.compiler.enter(inside, pass.roots);
  LoopValues carried;
  for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(loop.carried(i));
  Value* inner_point =
      point == nullptr
          ? nullptr
          : builder_.CreateAdd(builder_.CreateMul(point, context_.extent(axis)), loop.index());
  const LoopValues next =
      over_axis(pass, axes.subspan(1), inside, ranges, carried, inner_point, innermost);
  context_.compiler.leave();
  context_.operands.set_index(axis, nullptr);
  return loop.close(next);
}

Value* LoopBodies::kept_at(int expr, const KeptRow& kept, Value* lane) const {
  std::size_t position = 0;
  while (context_.passes.scratch[position] != expr) ++position;
  Value* start =
      builder_.CreateMul(kept.value_elements, context_.number(static_cast<std::int64_t>(position)));
  return builder_.CreateAdd(builder_.CreateAdd(start, kept.start), lane);
}

}  // namespace dyn::cpu
