// Lanes along a parallel axis: a ticket has a chunk of them, and every lane its own reductions.

#include <algorithm>

#include "targets/cpu/loop/code.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

namespace {

constexpr int rows_at_once = LoopProblem::rows_at_once;
constexpr int no_axis = -1;

/// Slots of the places along the lane axis where guards and comparisons change.
std::vector<int> border_slots(const rkernel::Problem& problem, const codegen::SlotTable& slots) {
  std::vector<int> borders;
  for (int operand = 0; operand < static_cast<int>(problem.operands.size()); ++operand) {
    const auto& guards = problem.operands[static_cast<std::size_t>(operand)].guards;
    for (int guard = 0; guard < static_cast<int>(guards.size()); ++guard) {
      if (guards[static_cast<std::size_t>(guard)].range_axis() != problem.lane_axis) continue;
      for (const int slot : {slots.guard_low(operand, guard), slots.guard_high(operand, guard)})
        if (slot != codegen::SlotTable::none) borders.push_back(slot);
    }
  }
  for (int expr = 0; expr < static_cast<int>(problem.exprs.size()); ++expr)
    if (codegen::is_border(problem, expr))
      borders.push_back(slots.dim_value(problem.exprs[static_cast<std::size_t>(expr)].args[1]));
  return borders;
}

}  // namespace

void LoopCode::emit_chunk() {
  const std::vector<int> roots = passes_.final_roots();
  const std::vector<int> borders = border_slots(problem_, loop_.slots);
  gathers_ahead_ = gathers_ahead();
  compiler_->set_segmented(!borders.empty());
  compiler_->enter(inner_, roots);
  if (borders.empty())
    emit_lanes_of_chunk(lanes_);
  else
    emit_segments(borders);
  compiler_->leave();
  compiler_->set_segmented(false);
}

/// From one border to the next.
void LoopCode::emit_segments(const std::vector<int>& borders) {
  codegen::Conditional any(builder_, builder_.CreateICmpSLT(lanes_.begin, lanes_.end), "segments");
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(builder_.getContext(), "segment", function_);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* begin = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  begin->addIncoming(lanes_.begin, before);
  Value* end = lanes_.end;
  for (const int border : borders) {
    Value* place = operands_->slot(border);
    Value* nearer = builder_.CreateAnd(builder_.CreateICmpSGT(place, begin),
                                       builder_.CreateICmpSLT(place, end));
    end = builder_.CreateSelect(nearer, place, end);
  }
  emit_lanes_of_chunk({begin, end});
  begin->addIncoming(end, builder_.GetInsertBlock());
  llvm::BasicBlock* after =
      llvm::BasicBlock::Create(builder_.getContext(), "segments.end", function_);
  builder_.CreateCondBr(builder_.CreateICmpSLT(end, lanes_.end), body, after);
  builder_.SetInsertPoint(after);
  any.close();
}

void LoopCode::emit_lanes_of_chunk(const Part& lanes) {
  over_range(lanes, streaming(passes_.final_stores, lanes), vectors(),
             [&](Value* begin, int count, Value* mask) {
               for (int i = 0; i < count; ++i) {
                 Value* lane = builder_.CreateAdd(begin, number(i * width_));
                 for (const auto& [operand, start] : gathers_ahead_) {
                   const DType dtype = problem_.operands[static_cast<std::size_t>(operand)].dtype;
                   codegen::prefetch(builder_, builder_.CreateGEP(codegen::memory_type(
                                                                      builder_.getContext(), dtype),
                                                                  start, lane));
                 }
                 // What is one run hardware follows better alone.
                 operands_->set_reading_ahead(next_ticket_axis() >= 0);
                 in_body({lane, mask, {}}, [&] { store_all(passes_.final_stores); });
                 operands_->set_reading_ahead(false);
               }
             });
}

/// Hardware cannot guess which slice an index names.
std::vector<std::pair<int, Value*>> LoopCode::gathers_ahead() {
  std::vector<std::pair<int, Value*>> starts;
  const int axis = next_ticket_axis();
  if (axis < 0) return starts;
  Value* here = operands_->index(axis);
  Value* later = builder_.CreateAdd(here, operands_->slot(loop_.ahead_slot));
  operands_->set_index(axis,
                       builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, later,
                                                      builder_.CreateSub(extent(axis), number(1))));
  compiler_->enter(inner_);
  for (const rkernel::Expr& expr : problem_.exprs) {
    if (expr.op != rkernel::ExprOp::Load || expr.args[0] < 0) continue;
    const bool unit =
        class_.lane_classes[static_cast<std::size_t>(expr.operand)] == codegen::StrideClass::Unit;
    if (!unit || compiler_->varies_along_lanes(expr.args[0]) ||
        (compiler_->varies(expr.args[0]) & codegen::axis_bit(axis)) == 0)
      continue;
    const DType dtype = problem_.exprs[static_cast<std::size_t>(expr.args[0])].dtype;
    Value* index = codegen::Math(builder_, math_)
                       .cast(dtype, DType::i64, compiler_->compile_natural(expr.args[0]));
    starts.emplace_back(expr.operand, operands_->gathered_pointer(expr.operand, index));
  }
  compiler_->leave();
  operands_->set_index(axis, here);
  return starts;
}

/// Serial axes outside, lanes inside, accumulators in scratch: memory is read in long runs,
/// whatever the strides of the serial axes.
void LoopCode::emit_reduced_chunk() {
  if (reduces_few()) return emit_few_rows(passes_.passes.front());
  compiler_->enter(inner_);
  accumulators_row_ = operands_->slot(chunk_slot());
  if (loop_.sliced && !merging_) accumulate_in_partials();
  for (const LoopPass& pass : passes_.passes) {
    if (merging_)
      merge_lanes(pass);
    else
      accumulate_lanes(pass);
    // What is the same in all lanes is hoisted out of bodies, and so must be found outside of them.
    for (const int expr : pass.reductions) {
      if (compiler_->varies_along_lanes(expr)) continue;
      compiler_->bind(expr, load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype,
                                         accumulator_at(expr, lanes_.begin)));
    }
  }
  when_whole([&] {
    over_range(lanes_, streaming(passes_.final_stores, lanes_), 1,
               [&](Value* begin, int, Value* mask) {
                 Body body{begin, mask, {}};
                 bind_reductions(body, nullptr);
                 in_body(body, [&] { store_all(passes_.final_stores); });
               });
  });
  compiler_->leave();
}

void LoopCode::accumulate_lanes(const LoopPass& pass) {
  CountedLoop clear(builder_, lanes_.begin, lanes_.end, number(width_), "clear");
  for (const int expr : pass.reductions)
    store_scratch(reduction(expr).neutral(width_), accumulator_at(expr, clear.index()));
  clear.close();
  if (pass.stores.empty())
    reduce_rows(pass);
  else
    store_rows(pass);
}

void LoopCode::reduce_rows(const LoopPass& pass) {
  // Reduction axes of extent 1 are no axes: there is one row.
  if (serial_axes_.empty()) return add_rows(pass, no_axis, nullptr, 1);
  const int axis = serial_axes_.back();
  serial_axes_.pop_back();
  over_serial_axes(pass, 0, {}, nullptr, [&](const Values&, Value*) -> Values {
    Value* grouped = builder_.CreateICmpNE(operands_->slot(loop_.grouped_slot), number(0));
    const Part part = part_of(axis);
    Value* in_groups = builder_.CreateAdd(
        part.begin, rounded_down(builder_.CreateSub(part.end, part.begin), rows_at_once));
    Value* whole = builder_.CreateSelect(grouped, in_groups, part.begin);
    CountedLoop rows(builder_, part.begin, whole, number(rows_at_once), "rows");
    add_rows(pass, axis, rows.index(), rows_at_once);
    rows.close();
    CountedLoop rest(builder_, whole, part.end, number(1), "last_rows");
    add_rows(pass, axis, rest.index(), 1);
    rest.close();
    return {};
  });
  serial_axes_.push_back(axis);
}

void LoopCode::add_rows(const LoopPass& pass, int axis, Value* first, int count) {
  // Either several rows or several vectors are independent work.
  over_range(lanes_, {}, count > 1 ? 1 : vectors(),
             [&](Value* begin, int vectors_here, Value* mask) {
               for (int vector = 0; vector < vectors_here; ++vector) {
                 Body body{builder_.CreateAdd(begin, number(vector * width_)), mask, {}};
                 bind_reductions(body, &pass);
                 Values accumulators = load_accumulators(pass, body.begin);
                 for (int i = 0; i < count; ++i) {
                   if (axis != no_axis)
                     operands_->set_index(axis, builder_.CreateAdd(first, number(i)));
                   if (count > 1) ask_for_later_rows(body, axis);
                   operands_->set_reading_ahead(count == 1);
                   sweep(pass, body, 0, 1, accumulators, nullptr);
                   operands_->set_reading_ahead(false);
                 }
                 if (axis != no_axis) operands_->set_index(axis, nullptr);
                 store_accumulators(pass, accumulators, body.begin);
               }
             });
}

void LoopCode::store_rows(const LoopPass& pass) {
  over_serial_axes(pass, 0, {}, nullptr, [&](const Values&, Value*) -> Values {
    // Accumulators are stored in whole vectors, which must begin where those of other passes do.
    const Streaming stores = pass.reductions.empty() ? streaming(pass.stores, lanes_) : Streaming{};
    over_range(lanes_, stores, vectors(), [&](Value* begin, int count, Value* mask) {
      for (int i = 0; i < count; ++i) {
        Body body{builder_.CreateAdd(begin, number(i * width_)), mask, {}};
        bind_reductions(body, &pass);
        Values accumulators = load_accumulators(pass, body.begin);
        sweep(pass, body, 0, 1, accumulators, nullptr);
        store_accumulators(pass, accumulators, body.begin);
      }
    });
    return {};
  });
}

/// Hardware follows few of so many rows.
void LoopCode::ask_for_later_rows(const Body& body, int axis) {
  in_body(body, [&] {
    for (int operand = 0; operand < static_cast<int>(problem_.operands.size()); ++operand)
      if (is_streamed_in(operand))
        operands_->prefetch_ahead(operand, axis, operands_->slot(loop_.ahead_slot));
  });
}

LoopCode::Values LoopCode::load_accumulators(const LoopPass& pass, Value* lane) {
  Values accumulators;
  for (const int expr : pass.reductions)
    accumulators.push_back(load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype,
                                        accumulator_at(expr, lane)));
  return accumulators;
}

void LoopCode::store_accumulators(const LoopPass& pass, const Values& accumulators, Value* lane) {
  for (std::size_t r = 0; r < pass.reductions.size(); ++r)
    store_scratch(accumulators[r], accumulator_at(pass.reductions[r], lane));
}

/// The results of the passes before one (nullptr: of all).
void LoopCode::bind_reductions(Body& body, const LoopPass* before) {
  for (const LoopPass& pass : passes_.passes) {
    if (&pass == before) return;
    for (const int expr : pass.reductions)
      body.bound.emplace_back(expr,
                              load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype,
                                           accumulator_at(expr, body.begin)));
  }
}

/// Place in the memory of accumulators: a chunk of lanes for each reduction.
Value* LoopCode::accumulator_at(int reduction, Value* lane) {
  std::int64_t position = 0;
  for (const LoopPass& pass : passes_.passes)
    for (const int expr : pass.reductions) {
      if (expr == reduction)
        return builder_.CreateAdd(builder_.CreateMul(accumulators_row_, number(position)),
                                  builder_.CreateSub(lane, lanes_.begin));
      ++position;
    }
  return nullptr;
}

}  // namespace dyn::cpu
