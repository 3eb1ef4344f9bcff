// Element-wise chunks of lanes along a parallel axis.

#include "targets/cpu/loop/bodies.hpp"
#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/lane_ranges.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using llvm::Value;

namespace {

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

/// An operand, and the address of the slice that a later ticket will gather from it.
struct GatherAhead {
  int operand;
  Value* start;
};

class ElementWiseChunk {
 public:
  explicit ElementWiseChunk(const LoopContext& context)
      : context_(context), builder_(context.builder) {}

  std::vector<GatherAhead> gathers_ahead() const;
  void emit_lanes(const LoopRange& lanes, const std::vector<GatherAhead>& gathers) const;
  /// From one border to the next.
  void emit_segments(const LoopRange& lanes, const std::vector<int>& borders,
                     const std::vector<GatherAhead>& gathers) const;

 private:
  /// Whether an expression gathers slices whose index the next ticket decides.
  bool gathers_by_ticket(const rkernel::Expr& expr, int axis) const;
  void ask_for(const std::vector<GatherAhead>& gathers, Value* lane) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
};

bool ElementWiseChunk::gathers_by_ticket(const rkernel::Expr& expr, int axis) const {
  if (expr.op != rkernel::ExprOp::Load || expr.args[0] < 0) return false;
  return context_.loop_class.lane_classes[static_cast<std::size_t>(expr.operand)] ==
             codegen::StrideClass::Unit &&
         !context_.compiler.varies_along_lanes(expr.args[0]) &&
         (context_.compiler.varies(expr.args[0]) & codegen::axis_bit(axis)) != 0;
}

/// Hardware cannot guess which slice an index names.
std::vector<GatherAhead> ElementWiseChunk::gathers_ahead() const {
  std::vector<GatherAhead> starts;
  const int axis = context_.next_ticket_axis();
  if (axis < 0) return starts;
  Value* here = context_.operands.index(axis);
  Value* later = builder_.CreateAdd(here, context_.operands.slot(context_.loop.ahead_slot));
  Value* last = builder_.CreateSub(context_.extent(axis), context_.number(1));
  context_.operands.set_index(axis,
                              builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, later, last));
  context_.compiler.enter(context_.registers.inner);
  for (const rkernel::Expr& expr : context_.problem.exprs) {
    if (!gathers_by_ticket(expr, axis)) continue;
    const DType dtype = context_.expr(expr.args[0]).dtype;
    Value* index = codegen::Math(builder_, math_options(context_.loop.isa))
                       .cast(dtype, DType::i64, context_.compiler.compile_natural(expr.args[0]));
    starts.push_back({expr.operand, context_.operands.gathered_pointer(expr.operand, index)});
  }
  context_.compiler.leave();
  context_.operands.set_index(axis, here);
  return starts;
}

void ElementWiseChunk::ask_for(const std::vector<GatherAhead>& gathers, Value* lane) const {
  for (const auto& [operand, start] : gathers) {
    llvm::Type* element =
        codegen::memory_type(builder_.getContext(), context_.operand(operand).dtype);
    codegen::prefetch(builder_, builder_.CreateGEP(element, start, lane));
  }
}

void ElementWiseChunk::emit_lanes(const LoopRange& lanes,
                                  const std::vector<GatherAhead>& gathers) const {
  const LoopBodies bodies(context_);
  const LaneRanges ranges(context_);
  const std::vector<int>& stores = context_.passes.final_stores;
  ranges.over(lanes, ranges.streaming(stores, lanes), context_.vectors(),
              [&](Value* begin, int count, Value* mask) {
                for (int i = 0; i < count; ++i) {
                  Value* lane = builder_.CreateAdd(begin, context_.number(i * context_.width));
                  ask_for(gathers, lane);
                  // Hardware follows a single run better alone.
                  context_.operands.set_reading_ahead(context_.next_ticket_axis() >= 0);
                  bodies.in_body({lane, mask, {}}, [&] { bodies.store_all(stores); });
                  context_.operands.set_reading_ahead(false);
                }
              });
}

void ElementWiseChunk::emit_segments(const LoopRange& lanes, const std::vector<int>& borders,
                                     const std::vector<GatherAhead>& gathers) const {
  codegen::Conditional any(builder_, builder_.CreateICmpSLT(lanes.begin, lanes.end), "segments");
  llvm::LLVMContext& llvm_context = builder_.getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* body = llvm::BasicBlock::Create(llvm_context, "segment", context_.function);
  builder_.CreateBr(body);
  builder_.SetInsertPoint(body);
  llvm::PHINode* begin = builder_.CreatePHI(builder_.getInt64Ty(), 2);
  begin->addIncoming(lanes.begin, before);
  Value* end = lanes.end;
  for (const int border : borders) {
    Value* place = context_.operands.slot(border);
    Value* nearer = builder_.CreateAnd(builder_.CreateICmpSGT(place, begin),
                                       builder_.CreateICmpSLT(place, end));
    end = builder_.CreateSelect(nearer, place, end);
  }
  emit_lanes({begin, end}, gathers);
  begin->addIncoming(end, builder_.GetInsertBlock());
  llvm::BasicBlock* after =
      llvm::BasicBlock::Create(llvm_context, "segments.end", context_.function);
  builder_.CreateCondBr(builder_.CreateICmpSLT(end, lanes.end), body, after);
  builder_.SetInsertPoint(after);
  any.close();
}

}  // namespace

void emit_chunk(const LoopContext& context, const LoopRange& lanes) {
  const ElementWiseChunk chunk(context);
  const std::vector<int> borders = border_slots(context.problem, context.loop.slots);
  const std::vector<GatherAhead> gathers = chunk.gathers_ahead();
  context.compiler.set_segmented(!borders.empty());
  context.compiler.enter(context.registers.inner, context.passes.final_roots());
  if (borders.empty())
    chunk.emit_lanes(lanes, gathers);
  else
    chunk.emit_segments(lanes, borders, gathers);
  context.compiler.leave();
  context.compiler.set_segmented(false);
}

}  // namespace dyn::cpu
