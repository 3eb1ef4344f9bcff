// Lanes along a parallel axis over reductions of few elements, such as windows: accumulators stay
// in registers.

#include <algorithm>

#include "targets/cpu/loop/code.hpp"

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

}  // namespace

bool LoopCode::reduces_few() const {
  if (merging_ || loop_.sliced || passes_.passes.size() != 1 || !reduces_window(problem_))
    return false;
  const LoopPass& pass = passes_.passes.front();
  const bool in_registers =
      static_cast<int>(pass.reductions.size()) * vectors() <= window_accumulators &&
      pass.stores.empty() && pass.saved.empty() && pass.loaded.empty();
  return in_registers && std::ranges::all_of(pass.reductions, [&](int expr) {
           return compiler_->varies_along_lanes(expr);
         });
}

/// Lanes outside, serial axes inside: each element of a window takes an address, and a test of the
/// guards that do not bound the loops, for a block of lanes.
void LoopCode::emit_few_rows(const LoopPass& pass) {
  compiler_->enter(inner_, passes_.final_roots());
  bound_windows(pass);
  over_range(lanes_, streaming(passes_.final_stores, lanes_), vectors(),
             [&](Value* begin, int count, Value* mask) {
               std::vector<Body> bodies;
               for (int i = 0; i < count; ++i)
                 bodies.push_back({builder_.CreateAdd(begin, number(i * width_)), mask, {}});
               const Values results = over_serial_axes(
                   pass, 0, neutral(pass, count), nullptr, [&](const Values& carried, Value*) {
                     Values accumulators = carried;
                     for (std::size_t i = 0; i < bodies.size(); ++i)
                       sweep(pass, bodies[i], i, bodies.size(), accumulators, nullptr);
                     return accumulators;
                   });
               for (std::size_t i = 0; i < bodies.size(); ++i) {
                 for (std::size_t r = 0; r < pass.reductions.size(); ++r)
                   bodies[i].bound.emplace_back(pass.reductions[r], results[r * bodies.size() + i]);
                 in_body(bodies[i], [&] { store_all(passes_.final_stores); });
               }
             });
  operands_->set_held(0, {});
  parts_.clear();
  compiler_->leave();
}

bool LoopCode::leaves_out(const rkernel::Expr& reduced, int operand) const {
  const rkernel::Operand& source = problem_.operands[static_cast<std::size_t>(operand)];
  const auto loads_it = [&](int position) {
    const rkernel::Expr& expr =
        problem_.exprs[static_cast<std::size_t>(loaded_expr(problem_, position))];
    return expr.op == rkernel::ExprOp::Load && expr.args[0] < 0 && expr.operand == operand;
  };
  if (loads_it(reduced.args[0])) return source.fill == codegen::neutral_number(reduced.op);
  const rkernel::Expr& product =
      problem_.exprs[static_cast<std::size_t>(loaded_expr(problem_, reduced.args[0]))];
  return source.absent_outside && reduced.op == rkernel::ExprOp::ReduceSum &&
         product.op == rkernel::ExprOp::Mul &&
         (loads_it(product.args[0]) || loads_it(product.args[1]));
}

int LoopCode::operand_left_out(const LoopPass& pass) const {
  for (int operand = 0; operand < static_cast<int>(problem_.operands.size()); ++operand) {
    if (problem_.operands[static_cast<std::size_t>(operand)].guards.empty()) continue;
    if (std::ranges::all_of(pass.reductions, [&](int expr) {
          return leaves_out(problem_.exprs[static_cast<std::size_t>(expr)], operand);
        }))
      return operand;
  }
  return -1;
}

int LoopCode::bounded_axis(const rkernel::Guard& guard) const {
  int bounded = -1;
  for (const graph::CoordTerm& term : guard.terms) {
    if ((inner_ & axis_bit(term.axis)) == 0) continue;
    if (bounded >= 0 || term.axis == problem_.lane_axis || term.factor.constant() != 1) return -1;
    bounded = term.axis;
  }
  return bounded;
}

/// Elements outside of an image change nothing where they are neutral to all reductions: loops over
/// a window leave them out.
void LoopCode::bound_windows(const LoopPass& pass) {
  const int operand = operand_left_out(pass);
  if (operand < 0) return;
  std::vector<int> held;
  const auto& guards = problem_.operands[static_cast<std::size_t>(operand)].guards;
  for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
    const int axis = bounded_axis(guards[static_cast<std::size_t>(guard)]);
    if (axis < 0) continue;
    const auto [begin, end] = operands_->indices_within(operand, guard, axis);
    const Part part = part_of(axis);
    std::erase_if(parts_, [&](const auto& known) { return known.first == axis; });
    parts_.push_back({axis,
                      {builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, part.begin, begin),
                       builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, part.end, end)}});
    held.push_back(guard);
  }
  operands_->set_held(operand, std::move(held));
}

}  // namespace dyn::cpu
