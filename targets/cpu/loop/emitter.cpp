#include "targets/cpu/loop/emitter.hpp"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "targets/cpu/loop/code.hpp"
#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {

using codegen::axis_bit;
using codegen::CountedLoop;
using llvm::Value;

namespace {

constexpr int avx512_lanes = 16;

}  // namespace

LoopCode::LoopCode(llvm::Module& module, const std::string& symbol, const LoopProblem& loop,
                   const LoopClass& loop_class, LoopStage stage)
    : loop_(loop),
      problem_(loop.problem),
      class_(loop_class),
      width_(loop.isa.f32_lanes),
      builder_(module.getContext()),
      math_{.fma = loop.isa.fma, .scalef = loop.isa.f32_lanes == avx512_lanes},
      passes_(codegen::plan_passes(problem_, loop.slots, loop_class.lane_classes,
                                   loop_class.scratch_values > 0)),
      merging_(stage == LoopStage::Merge) {
  function_ = create_kernel_function(builder_, module, symbol);
  function_->setDoesNotThrow();
  operands_.emplace(builder_, problem_, loop.slots, class_.lane_classes,
                    codegen::load_kernel_args(builder_, function_->getArg(0)), width_);
  compiler_.emplace(builder_, problem_, *operands_, math_);
  scratch_ = function_->getArg(3);
  if (loop.sliced) shared_ = codegen::load_shared_memory(builder_, function_->getArg(0));
}

void LoopCode::emit() {
  Value* first = function_->getArg(1);
  Value* end = builder_.CreateAdd(first, function_->getArg(2));
  codegen::Conditional any(builder_, builder_.CreateICmpSLT(first, end), "tickets");
  const Values start = digits_of(first);
  CountedLoop tickets(builder_, first, end, builder_.getInt64(1), "ticket", start);
  digits_.clear();
  for (std::size_t i = 0; i < start.size(); ++i) digits_.push_back(tickets.carried(i));
  rkernel::walk(loop_.tree, *this);
  tickets.close(following_digits());
  any.close();
  fence_streams();
  builder_.CreateRetVoid();
}

void LoopCode::open(int, const rkernel::Loop& loop) {
  const bool lanes = loop.axis == problem_.lane_axis;
  if (is_reduced(loop.axis)) {
    if (merging_) return;
    Value* digit = digits_[next_digit_++];
    Value* chunk = operands_->slot(slice_of(loop.axis)->chunk);
    Value* begin = builder_.CreateMul(digit, chunk);
    parts_.push_back(
        {loop.axis,
         {begin, builder_.CreateBinaryIntrinsic(
                     llvm::Intrinsic::smin, builder_.CreateAdd(begin, chunk), extent(loop.axis))}});
    slice_digits_.emplace_back(loop.axis, digit);
    return;
  }
  Value* digit = digits_[next_digit_++];
  if (!lanes && loop.axis != loop_.turned_axis) {
    operands_->set_index(loop.axis, digit);
    row_digits_.emplace_back(loop.axis, digit);
    return;
  }
  Value* chunk = operands_->slot(lanes ? chunk_slot() : loop_.turned_chunk_slot);
  Part& part = lanes ? lanes_ : steps_;
  part.begin = builder_.CreateMul(digit, chunk);
  part.end = builder_.CreateBinaryIntrinsic(
      llvm::Intrinsic::smin, builder_.CreateAdd(part.begin, chunk), extent(loop.axis));
}

void LoopCode::close(int, const rkernel::Loop& loop) { operands_->set_index(loop.axis, nullptr); }

void LoopCode::leaf(const rkernel::Layer& registers) {
  for (const rkernel::Loop& loop : registers.loops) {
    inner_ |= axis_bit(loop.axis);
    if (loop.axis == problem_.lane_axis)
      block_ = static_cast<int>(loop.tile);
    else if (loop.axis != loop_.turned_axis)
      serial_axes_.push_back(loop.axis);
  }
  if (loop_.turned_axis >= 0)
    emit_tiles();
  else if (loop_.lanes_reduced())
    emit_reduced_row();
  else if (passes_.passes.empty())
    emit_chunk();
  else
    emit_reduced_chunk();
}

std::vector<rkernel::Loop> LoopCode::ticket_loops() const {
  std::vector<rkernel::Loop> loops = loop_.tree.layers.back().loops;
  if (merging_)
    std::erase_if(loops, [&](const rkernel::Loop& loop) { return is_reduced(loop.axis); });
  return loops;
}

/// Slots of the number of values of each digit of a ticket, slowest first.
std::vector<int> LoopCode::digit_slots() const {
  std::vector<int> slots;
  for (const rkernel::Loop& loop : ticket_loops()) {
    if (is_reduced(loop.axis))
      slots.push_back(slice_of(loop.axis)->chunks);
    else if (loop.axis == problem_.lane_axis)
      slots.push_back(merging_ ? loop_.sliced->merge_chunks : loop_.chunks_slot);
    else if (loop.axis == loop_.turned_axis)
      slots.push_back(loop_.turned_chunks_slot);
    else
      slots.push_back(loop_.slots.extent(loop.axis));
  }
  return slots;
}

int LoopCode::next_ticket_axis() const {
  int axis = -1;
  for (const rkernel::Loop& loop : loop_.tree.layers.back().loops)
    if (loop.axis != problem_.lane_axis && loop.axis != loop_.turned_axis && !is_reduced(loop.axis))
      axis = loop.axis;
  return axis;
}

LoopCode::Values LoopCode::digits_of(Value* ticket) {
  const std::vector<int> slots = digit_slots();
  Values digits(slots.size());
  for (std::size_t i = slots.size(); i-- > 0;) {
    if (i == 0) {
      digits[i] = ticket;
      break;
    }
    Value* count = operands_->slot(slots[i]);
    digits[i] = builder_.CreateURem(ticket, count);
    ticket = builder_.CreateUDiv(ticket, count);
  }
  return digits;
}

LoopCode::Values LoopCode::following_digits() {
  const std::vector<int> slots = digit_slots();
  Values next(slots.size());
  Value* carry = number(1);
  for (std::size_t i = slots.size(); i-- > 0;) {
    Value* sum = builder_.CreateAdd(digits_[i], carry);
    Value* wraps = builder_.CreateICmpEQ(sum, operands_->slot(slots[i]));
    next[i] = builder_.CreateSelect(wraps, number(0), sum);
    carry = builder_.CreateZExt(wraps, builder_.getInt64Ty());
  }
  return next;
}

// Streaming stores are not ordered with the store by which a thread says that its tickets are done.
void LoopCode::fence_streams() {
  codegen::Conditional streamed(
      builder_, builder_.CreateICmpNE(operands_->slot(loop_.stream_slot), number(0)), "fence");
  builder_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  streamed.close();
}

void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class) {
  rkernel::legalise(problem.tree, {.vector_registers = problem.isa.vector_registers});
  LoopCode(module, symbol, problem, loop_class, LoopStage::First).emit();
}

void emit_loop_merge(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                     const LoopClass& loop_class) {
  rkernel::legalise(problem.tree, {.vector_registers = problem.isa.vector_registers});
  LoopCode(module, symbol, problem, loop_class, LoopStage::Merge).emit();
}

}  // namespace dyn::cpu
