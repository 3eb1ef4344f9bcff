#include "targets/ptx/loop/row_passes.hpp"

#include <algorithm>

#include "targets/llvm/code/transpose.hpp"
#include "targets/ptx/ir/device_math.hpp"

namespace dyn::ptx {

using codegen::axis_bit;
using codegen::AxisSet;
using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

llvm::IntegerType* index_type(codegen::Builder& builder, const LoopClass& loop_class) {
  return loop_class.narrow ? builder.getInt32Ty() : builder.getInt64Ty();
}

codegen::LoopPasses passes_of(const LoopProblem& problem, const LoopClass& loop_class) {
  if (loop_class.kept > 0) return passes_that_keep(problem, loop_class.lane_classes);
  return codegen::plan_passes(problem.problem, problem.slots, loop_class.lane_classes, false);
}

RowPasses::Lanes::Lanes(codegen::Builder& builder, const LoopProblem& loop,
                        const LoopClass& loop_class, codegen::KernelArgsValues args, int width)
    : operands(builder, loop.problem, loop.slots, loop_class.lane_classes, args, width),
      compiler(builder, loop.problem, operands, device_math) {
  operands.set_aligned(width > 1);
}

RowPasses::RowPasses(codegen::Builder& builder, const LoopProblem& loop,
                     const LoopClass& loop_class, codegen::KernelArgsValues args,
                     const RowThreads& row)
    : builder_(builder),
      loop_(loop),
      problem_(loop.problem),
      class_(loop_class),
      passes_(passes_of(loop, loop_class)),
      row_(row) {
  for (const LoopPass& pass : passes_.passes) reducing_passes_ += !pass.reductions.empty();
  if (class_.width() > 1)
    lanes_.push_back(std::make_unique<Lanes>(builder, loop, loop_class, args, class_.width()));
  lanes_.push_back(std::make_unique<Lanes>(builder, loop, loop_class, args, 1));
}

Value* RowPasses::index(std::int64_t value) const {
  return llvm::ConstantInt::getSigned(index_type(builder_, class_), value);
}

Value* RowPasses::slot(int slot) {
  return builder_.CreateTrunc(single().operands.slot(slot), index_type(builder_, class_));
}

void RowPasses::set_index(int axis, Value* index) {
  if (axis == class_.turn.axis) turned_from_ = index;
  for (const auto& lanes : lanes_) lanes->operands.set_index(axis, index);
}

void RowPasses::enter(AxisSet inner, std::span<const int> roots) {
  for (Lanes* lanes : active_) lanes->compiler.enter(inner, roots);
}

void RowPasses::leave() {
  for (Lanes* lanes : active_) lanes->compiler.leave();
}

AxisSet RowPasses::axes_from(std::size_t depth) const {
  AxisSet axes = 0;
  for (; depth < loops_.size(); ++depth) axes |= axis_bit(loops_[depth].axis);
  return axes;
}

std::vector<codegen::Reduction> RowPasses::reductions_of(const LoopPass& pass) {
  std::vector<codegen::Reduction> reductions;
  for (const int expr : pass.reductions)
    reductions.emplace_back(builder_, device_math, problem_.exprs[static_cast<std::size_t>(expr)]);
  return reductions;
}

RowPasses::Values RowPasses::neutral(const LoopPass& pass, int width) {
  Values values;
  for (codegen::Reduction& reduction : reductions_of(pass))
    values.push_back(reduction.neutral(width));
  return values;
}

void RowPasses::emit(const std::vector<rkernel::Loop>& loops) {
  loops_ = loops;
  if (class_.turn.exists()) return emit_square();
  if (loop_.lanes_reduced() || class_.width() == 1) {
    Active all;
    for (const auto& lanes : lanes_) all.push_back(lanes.get());
    emit_passes(std::move(all));
  } else {
    emit_vector_or_tail();
  }
}

/// A vector of points that exists as a whole, or the last points of the lane axis one by one.
void RowPasses::emit_vector_or_tail() {
  const int lane = problem_.lane_axis;
  if (!class_.tails) return emit_passes({lanes_.front().get()});
  Value* first = single().operands.lane_start();
  Value* end = extent(lane);
  Value* whole = builder_.CreateICmpSLE(builder_.CreateAdd(first, index(class_.width())), end);
  codegen::Conditional vector(builder_, whole, "vector");
  emit_passes({lanes_.front().get()});
  vector.close();
  CountedLoop tail(builder_, builder_.CreateSelect(whole, end, first), end, index(1), "tail");
  set_index(lane, tail.index());
  emit_passes({&single()});
  tail.close();
  set_index(lane, first);
}

/// The square's columns of a load whose operand lies across the lanes: vectors along the lanes.
RowPasses::Values RowPasses::turned(int operand) {
  const int side = class_.width(), lane = problem_.lane_axis;
  codegen::Operands& operands = single().operands;
  Value* first = operands.lane_start();
  Values rows;
  for (int i = 0; i < side; ++i) {
    operands.set_index(lane, builder_.CreateAdd(first, index(i)));
    rows.push_back(operands.load_run(operand, side));
  }
  operands.set_index(lane, first);
  Values columns = codegen::transpose(builder_, rows);
  for (Value*& column : columns) column = operands.in_register(operand, column);
  return columns;
}

/// A vector of the lanes at each place of the square along the turned axis.
void RowPasses::emit_square() {
  Lanes& lanes = *lanes_.front();
  const int axis = class_.turn.axis;
  Value* first = turned_from_;
  single().compiler.enter(axis_bit(problem_.lane_axis));
  std::map<int, Values> loads;  // of the loads that are turned
  for (std::size_t i = 0; i < problem_.exprs.size(); ++i)
    if (const rkernel::Expr& expr = problem_.exprs[i];
        expr.op == rkernel::ExprOp::Load &&
        class_.lane_classes[static_cast<std::size_t>(expr.operand)] == codegen::StrideClass::Any)
      loads[static_cast<int>(i)] = turned(expr.operand);
  single().compiler.leave();
  std::vector<int> roots;
  for (const rkernel::Store& store : problem_.stores) roots.push_back(store.expr);
  lanes.compiler.enter(axis_bit(axis), roots);
  for (int i = 0; i < class_.width(); ++i) {
    lanes.operands.set_index(axis, builder_.CreateAdd(first, index(i)));
    lanes.compiler.enter(0);
    for (const auto& [expr, columns] : loads)
      lanes.compiler.bind(expr, columns[static_cast<std::size_t>(i)]);
    for (const rkernel::Store& store : problem_.stores) lanes.compiler.store(store);
    lanes.compiler.leave();
  }
  lanes.compiler.leave();
}

void RowPasses::emit_passes(Active active) {
  active_ = std::move(active);
  const AxisSet inner = axes_from(0);
  enter(inner);
  int place = 0;
  for (const LoopPass& pass : passes_.passes) {
    enter(inner, pass.roots);
    const int width = loop_.lanes_reduced() ? 1 : width_of(*active_.front());
    const Values partial = over_loops(pass, 0, neutral(pass, width));
    leave();
    const Values results = combined(pass, partial, place);
    for (std::size_t i = 0; i < results.size(); ++i)
      for (Lanes* lanes : active_) lanes->compiler.bind(pass.reductions[i], results[i]);
    place += static_cast<int>(results.size());
  }
  if (!passes_.final_stores.empty()) emit_final_stores();
  leave();
}

/// Emits the loops from number `depth` on.
RowPasses::Values RowPasses::over_loops(const LoopPass& pass, std::size_t depth,
                                        const Values& accumulators) {
  if (depth == loops_.size()) return body(pass, *active_.front(), accumulators);
  const rkernel::Loop& loop = loops_[depth];
  if (class_.kept > 0) return over_kept(pass, accumulators);
  if (shares_row() && loop.axis == problem_.lane_axis) return over_row(pass, accumulators);
  CountedLoop counted(builder_, index(0), extent(loop.axis), index(1), "reduce", accumulators);
  set_index(loop.axis, counted.index());
  enter(axes_from(depth + 1), pass.roots);
  Values carried;
  for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(counted.carried(i));
  const Values next = over_loops(pass, depth + 1, carried);
  leave();
  set_index(loop.axis, nullptr);
  return counted.close(next);
}

/// The loop along the lanes, which the threads of a row share: each takes every so many-th vector,
/// and of the elements behind the last whole vector every so many-th one.
RowPasses::Values RowPasses::over_row(const LoopPass& pass, const Values& accumulators) {
  Value* member = builder_.CreateZExt(row_.member, index_type(builder_, class_));
  Value* end = extent(problem_.lane_axis);
  const int width = class_.width();
  const std::int64_t step = loops_.back().tile;
  if (width == 1) return over_elements(pass, single(), member, end, index(step), accumulators);
  Value* whole = builder_.CreateAnd(end, index(-width));
  const Values vectors =
      over_elements(pass, *lanes_.front(), builder_.CreateMul(member, index(width)), whole,
                    index(step), neutral(pass, width));
  const Values sums = merged(pass, vectors, accumulators);
  if (!class_.tails) return sums;
  return over_elements(pass, single(), builder_.CreateAdd(whole, member), end, index(step / width),
                       sums);
}

RowPasses::Values RowPasses::over_elements(const LoopPass& pass, Lanes& lanes, Value* begin,
                                           Value* end, Value* step, const Values& accumulators) {
  const int lane = problem_.lane_axis;
  CountedLoop counted(builder_, begin, end, step, "reduce", accumulators);
  set_index(lane, counted.index());
  lanes.compiler.enter(0, pass.roots);
  Values carried;
  for (std::size_t i = 0; i < accumulators.size(); ++i) carried.push_back(counted.carried(i));
  const Values next = body(pass, lanes, carried);
  lanes.compiler.leave();
  set_index(lane, nullptr);
  return counted.close(next);
}

RowPasses::Values RowPasses::body(const LoopPass& pass, Lanes& lanes, const Values& accumulators) {
  Values next;
  std::vector<codegen::Reduction> reductions = reductions_of(pass);
  lanes.compiler.enter(0);
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    next.push_back(reductions[i].step(
        accumulators[i],
        lanes.compiler.compile(
            problem_.exprs[static_cast<std::size_t>(pass.reductions[i])].args[0])));
  for (const int store : pass.stores)
    lanes.compiler.store(problem_.stores[static_cast<std::size_t>(store)]);
  lanes.compiler.leave();
  return next;
}

/// All of a thread's vectors, one after another in the code, so that values are kept in registers
/// from pass to pass. Those that do not exist are left out: the row ends before them, and where the
/// first of several does not exist, none of them does.
RowPasses::Values RowPasses::over_kept(const LoopPass& pass, const Values& accumulators) {
  constexpr std::size_t together = 4;
  const int width = class_.width();
  const auto parts = static_cast<std::size_t>(class_.kept);
  kept_.resize(parts);
  Values sums = width == 1 ? accumulators : neutral(pass, width);
  for (std::size_t begin = 0; begin < parts; begin += together) {
    const std::size_t end = std::min(begin + together, parts);
    std::optional<codegen::Conditional> some;
    if (begin > 0) some.emplace(builder_, part_exists(begin), "parts");
    const Values before = sums;
    for (std::size_t part = begin; part < end; ++part) sums = over_part(pass, part, sums);
    if (some) sums = close_parts(*some, pass, {begin, end}, sums, before);
  }
  return width == 1 ? sums : merged(pass, sums, accumulators);
}

Value* RowPasses::first_of_part(std::size_t part) {
  Value* member = builder_.CreateZExt(row_.member, index_type(builder_, class_));
  Value* vector = builder_.CreateAdd(member, index(static_cast<std::int64_t>(part) * row_.count));
  return builder_.CreateMul(vector, index(class_.width()));
}

Value* RowPasses::part_exists(std::size_t part) {
  return builder_.CreateICmpSLT(first_of_part(part), extent(problem_.lane_axis));
}

RowPasses::Values RowPasses::over_part(const LoopPass& pass, std::size_t part, const Values& sums) {
  codegen::Conditional exists(builder_, part_exists(part), "part");
  set_index(problem_.lane_axis, first_of_part(part));
  const Values next = kept_body(pass, kept_[part], sums);
  set_index(problem_.lane_axis, nullptr);
  return close_parts(exists, pass, {part, part + 1}, next, sums);
}

/// The sums of one part of the row; what later passes need of it is kept.
RowPasses::Values RowPasses::kept_body(const LoopPass& pass, Kept& kept, const Values& sums) {
  Lanes& lanes = *lanes_.front();
  lanes.compiler.enter(0);
  for (const int expr : pass.loaded) lanes.compiler.bind(expr, kept.at(expr));
  for (const int expr : pass.saved) kept[expr] = lanes.compiler.compile(expr);
  const Values next = body(pass, lanes, sums);
  lanes.compiler.leave();
  return next;
}

/// Closes the condition of parts: sums stay as they are where these do not exist, and what is kept
/// of them is then read by nobody.
RowPasses::Values RowPasses::close_parts(codegen::Conditional& exist, const LoopPass& pass,
                                         const Parts& parts, const Values& next,
                                         const Values& sums) {
  Values inside = next, outside = sums;
  for (std::size_t part = parts.begin; part < parts.end; ++part)
    for (const int expr : pass.saved) {
      inside.push_back(kept_[part].at(expr));
      outside.push_back(llvm::Constant::getNullValue(inside.back()->getType()));
    }
  Values all = exist.close(inside, outside);
  std::size_t place = sums.size();
  for (std::size_t part = parts.begin; part < parts.end; ++part)
    for (const int expr : pass.saved) kept_[part][expr] = all[place++];
  all.resize(sums.size());
  return all;
}

/// One value of each vector, together with what was accumulated before.
RowPasses::Values RowPasses::merged(const LoopPass& pass, const Values& vectors,
                                    const Values& accumulators) {
  std::vector<codegen::Reduction> reductions = reductions_of(pass);
  Values sums;
  for (std::size_t i = 0; i < vectors.size(); ++i)
    sums.push_back(
        reductions[i].step(accumulators[i], reductions[i].merge({&vectors[i], std::size_t{1}})));
  return sums;
}

RowPasses::Values RowPasses::combined(const LoopPass& pass, const Values& partial, int place) {
  if (!shares_row()) return partial;
  std::vector<codegen::Reduction> reductions = reductions_of(pass);
  return combine(builder_, row_, reductions, partial, place, reducing_passes_ == 1);
}

/// Stores values that do not vary along reduction axes: once for each row.
void RowPasses::emit_final_stores() {
  Lanes& lanes = loop_.lanes_reduced() ? single() : *active_.front();
  std::optional<codegen::Conditional> once;
  if (shares_row())
    once.emplace(builder_, builder_.CreateICmpEQ(row_.member, builder_.getInt32(0)), "once");
  lanes.compiler.enter(0);
  for (const int store : passes_.final_stores)
    lanes.compiler.store(problem_.stores[static_cast<std::size_t>(store)]);
  lanes.compiler.leave();
  if (once) once->close();
}

}  // namespace dyn::ptx
