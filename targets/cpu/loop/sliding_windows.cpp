// Reductions over sliding windows, such as pools: lanes along a parallel axis over few elements
// each, so that accumulators stay in registers.

#include <algorithm>

#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::LoopPass;
using llvm::Value;

namespace {

/// The loaded expression behind casts between floating-point types, all of which keep what is
/// neutral.
int loaded_expr(const rkernel::Problem& problem, int expr) {
  const auto at = [&](int position) -> const rkernel::Expr& {
    return problem.exprs[static_cast<std::size_t>(position)];
  };
  while (at(expr).op == rkernel::ExprOp::Cast && is_float(at(expr).dtype) &&
         is_float(at(at(expr).args[0]).dtype))
    expr = at(expr).args[0];
  return expr;
}

/// Whether a reduction gives the same without the elements for which a guard of the operand does
/// not hold.
bool leaves_out(const LoopContext& context, const rkernel::Expr& reduced, int operand) {
  const rkernel::Operand& source = context.operand(operand);
  const auto loads_it = [&](int position) {
    const rkernel::Expr& expr = context.expr(loaded_expr(context.problem, position));
    return expr.op == rkernel::ExprOp::Load && expr.args[0] < 0 && expr.operand == operand;
  };
  if (loads_it(reduced.args[0])) return source.fill == codegen::neutral_number(reduced.op);
  const rkernel::Expr& product = context.expr(loaded_expr(context.problem, reduced.args[0]));
  return source.absent_outside && reduced.op == rkernel::ExprOp::ReduceSum &&
         product.op == rkernel::ExprOp::Mul &&
         (loads_it(product.args[0]) || loads_it(product.args[1]));
}

/// The operand whose elements outside of its guards no reduction of a pass needs.
std::optional<int> operand_left_out(const LoopContext& context, const LoopPass& pass) {
  for (int operand = 0; operand < static_cast<int>(context.problem.operands.size()); ++operand) {
    if (context.operand(operand).guards.empty()) continue;
    if (std::ranges::all_of(pass.reductions, [&](int expr) {
          return leaves_out(context, context.expr(expr), operand);
        }))
      return operand;
  }
  return std::nullopt;
}

/// The axis of a window, at steps of 1, of which a guard leaves a range.
std::optional<int> bounded_axis(const LoopContext& context, const rkernel::Guard& guard) {
  std::optional<int> bounded;
  for (const graph::CoordTerm& term : guard.terms) {
    if ((context.registers.inner & axis_bit(term.axis)) == 0) continue;
    if (bounded || term.axis == context.problem.lane_axis || term.factor.constant() != 1)
      return std::nullopt;
    bounded = term.axis;
  }
  return bounded;
}

/// The elements of a window that lie inside of an image.
struct InsideWindow {
  AxisRanges ranges;        ///< of the axes that guards bound
  int operand = 0;          ///< whose guards these are
  std::vector<int> guards;  ///< which hold in all of the ranges
};

/// Elements outside of an image change nothing where they are neutral to all reductions: loops over
/// a window leave them out.
InsideWindow inside_window(const LoopContext& context, const LoopPass& pass) {
  const std::optional<int> operand = operand_left_out(context, pass);
  if (!operand) return {};
  InsideWindow inside{{}, *operand, {}};
  codegen::Builder& builder = context.builder;
  const auto& guards = context.operand(*operand).guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    const std::optional<int> axis = bounded_axis(context, guards[static_cast<std::size_t>(guard)]);
    if (!axis) continue;
    const auto [begin, end] = context.operands.indices_within(*operand, guard, *axis);
    const LoopRange range = context.range_of(inside.ranges, *axis);
    Value* later = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, range.begin, begin);
    Value* sooner = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, range.end, end);
    std::erase_if(inside.ranges, [&](const auto& known) { return known.first == *axis; });
    inside.ranges.push_back({*axis, {later, sooner}});
    inside.guards.push_back(guard);
  }
  return inside;
}

/// A block of `count` vectors of lanes: each element of a window takes an address, and a test of
/// the guards that do not bound the loops, for all of them.
void emit_block(const LoopContext& context, const LoopPass& pass, const AxisRanges& ranges,
                std::span<const LoopBody> bodies) {
  const LoopBodies code(context);
  const std::size_t count = bodies.size();
  const auto element = [&](const LoopValues& carried, Value*) {
    LoopValues accumulators = carried;
    for (std::size_t i = 0; i < count; ++i)
      accumulators = code.sweep(pass, bodies[i], i, count, accumulators, {});
    return accumulators;
  };
  const LoopValues results =
      code.over_serial_axes(pass, context.registers.serial_axes, ranges,
                            code.neutral(pass, static_cast<int>(count)), nullptr, element);
  for (std::size_t i = 0; i < count; ++i) {
    LoopBody stored = bodies[i];
    for (std::size_t r = 0; r < pass.reductions.size(); ++r)
      stored.bound.emplace_back(pass.reductions[r], results[r * count + i]);
    code.in_body(stored, [&] { code.store_all(context.passes.final_stores); });
  }
}

}  // namespace

bool slides_windows(const LoopContext& context) {
  const auto& passes = context.passes.passes;
  if (context.loop.sliced || passes.size() != 1 || !reduces_window(context.problem)) return false;
  const LoopPass& pass = passes.front();
  const bool in_registers =
      static_cast<int>(pass.reductions.size()) * context.vectors() <= window_accumulators &&
      pass.stores.empty() && pass.saved.empty() && pass.loaded.empty();
  return in_registers && std::ranges::all_of(pass.reductions, [&](int expr) {
           return context.compiler.varies_along_lanes(expr);
         });
}

void emit_sliding_windows(const LoopContext& context, const LoopRange& lanes) {
  const LoopPass& pass = context.passes.passes.front();
  const LaneRanges ranges(context);
  context.compiler.enter(context.registers.inner, context.passes.final_roots());
  const InsideWindow inside = inside_window(context, pass);
  context.operands.set_held(inside.operand, inside.guards);
  ranges.over(lanes, ranges.streaming(context.passes.final_stores, lanes), context.vectors(),
              [&](Value* begin, int count, Value* mask) {
                std::vector<LoopBody> bodies;
                for (int i = 0; i < count; ++i) {
                  Value* distance = context.number(i * context.width);
                  bodies.push_back({context.builder.CreateAdd(begin, distance), mask, {}});
                }
                emit_block(context, pass, inside.ranges, bodies);
              });
  context.operands.set_held(0, {});
  context.compiler.leave();
}

}  // namespace dyn::cpu
