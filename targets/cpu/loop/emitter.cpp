#include "targets/cpu/loop/emitter.hpp"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include <functional>

#include "targets/cpu/loop/forms.hpp"
#include "targets/cpu/loop/partials.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using llvm::Value;

namespace {

/// The number of a ticket as digits, one for each loop over tickets, the slowest first.
class TicketDigits {
 public:
  explicit TicketDigits(const LoopContext& context)
      : context_(context), builder_(context.builder), slots_(slots_of_digits()) {}

  LoopValues of(Value* ticket) const;
  LoopValues after(const LoopValues& digits) const;

 private:
  std::vector<int> slots_of_digits() const;
  int slot_of_digit(int axis) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  const std::vector<int> slots_;  ///< of how many values each digit has
};

std::vector<int> TicketDigits::slots_of_digits() const {
  std::vector<int> slots;
  for (const rkernel::Loop& loop : context_.loop.tree.layers.back().loops)
    if (!context_.merging() || !context_.is_reduced(loop.axis))
      slots.push_back(slot_of_digit(loop.axis));
  return slots;
}

int TicketDigits::slot_of_digit(int axis) const {
  const LoopProblem& loop = context_.loop;
  if (context_.is_reduced(axis)) return sliced_axis(loop, axis).chunks;
  if (axis == context_.problem.lane_axis)
    return context_.merging() ? loop.sliced->merge_chunks : loop.chunks_slot;
  return axis == loop.steps_axis() ? loop.steps_chunks_slot : loop.slots.extent(axis);
}

LoopValues TicketDigits::of(Value* ticket) const {
  LoopValues digits(slots_.size());
  for (std::size_t i = slots_.size(); i-- > 0;) {
    if (i == 0) {
      digits[i] = ticket;
      break;
    }
    Value* count = context_.operands.slot(slots_[i]);
    digits[i] = builder_.CreateURem(ticket, count);
    ticket = builder_.CreateUDiv(ticket, count);
  }
  return digits;
}

LoopValues TicketDigits::after(const LoopValues& digits) const {
  LoopValues next(slots_.size());
  Value* carry = context_.number(1);
  for (std::size_t i = slots_.size(); i-- > 0;) {
    Value* sum = builder_.CreateAdd(digits[i], carry);
    Value* wraps = builder_.CreateICmpEQ(sum, context_.operands.slot(slots_[i]));
    next[i] = builder_.CreateSelect(wraps, context_.number(0), sum);
    carry = builder_.CreateZExt(wraps, builder_.getInt64Ty());
  }
  return next;
}

/// Writes one ticket while rkernel::walk goes through the tree: each loop over tickets adds what
/// the ticket covers along its axis, the innermost layer takes it as a whole.
class TicketEmitter final : public rkernel::Emitter {
 public:
  TicketEmitter(const LoopContext& context, const LoopValues& digits)
      : context_(context), digits_(digits) {}

  void open(int, const rkernel::Loop& loop) override {
    if (context_.is_reduced(loop.axis)) {
      if (!context_.merging()) open_slice(loop.axis, digits_[next_digit_++]);
    } else if (loop.axis == context_.problem.lane_axis) {
      ticket_.lanes = chunk(loop.axis, digits_[next_digit_++], context_.chunk_slot());
    } else if (loop.axis == context_.loop.steps_axis()) {
      ticket_.steps = chunk(loop.axis, digits_[next_digit_++], context_.loop.steps_chunk_slot);
    } else {
      Value* digit = digits_[next_digit_++];
      context_.operands.set_index(loop.axis, digit);
      ticket_.row.emplace_back(loop.axis, digit);
    }
  }

  void close(int, const rkernel::Loop& loop) override {
    context_.operands.set_index(loop.axis, nullptr);
  }

  void move(int, const rkernel::Move&) override {}

  void leaf(const rkernel::Layer&) override {
    if (context_.loop.transposed_axis >= 0)
      emit_tiles(context_, ticket_.lanes.value(), ticket_.steps.value());
    else if (context_.loop.lanes_reduced())
      emit_reduced_row(context_, ticket_);
    else if (context_.passes.passes.empty())
      emit_chunk(context_, ticket_.lanes.value());
    else if (slides_windows(context_))
      emit_sliding_windows(context_, ticket_);
    else if (ticket_.steps)
      over_steps([&] { emit_reduced_chunk(context_, ticket_, ticket_.lanes.value()); });
    else
      emit_reduced_chunk(context_, ticket_, ticket_.lanes.value());
  }

 private:
  void over_steps(const std::function<void()>& emit_step) const {
    const int axis = context_.loop.steps_axis();
    CountedLoop steps(context_.builder, ticket_.steps->begin, ticket_.steps->end,
                      context_.number(1), "step");
    context_.operands.set_index(axis, steps.index());
    emit_step();
    context_.operands.set_index(axis, nullptr);
    steps.close();
  }

  /// The indices of an axis that belong to a digit.
  LoopRange chunk(int axis, Value* digit, int slot) const {
    codegen::Builder& builder = context_.builder;
    Value* size = context_.operands.slot(slot);
    Value* begin = builder.CreateMul(digit, size);
    return {begin,
            builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder.CreateAdd(begin, size),
                                          context_.extent(axis))};
  }

  void open_slice(int axis, Value* digit) {
    const LoopRange range = chunk(axis, digit, sliced_axis(context_.loop, axis).chunk);
    ticket_.slice.emplace_back(axis, range);
    ticket_.slice_digits.emplace_back(axis, digit);
  }

  const LoopContext& context_;
  const LoopValues& digits_;
  std::size_t next_digit_ = 0;
  LoopTicket ticket_;
};

/// Streaming stores are not ordered with the store by which a thread says that its tickets are
/// done.
void fence_streams(const LoopContext& context) {
  Value* streams = context.operands.slot(context.loop.stream_slot);
  codegen::Conditional streamed(context.builder,
                                context.builder.CreateICmpNE(streams, context.number(0)), "fence");
  context.builder.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  streamed.close();
}

void emit_stage(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                const LoopClass& loop_class, LoopStage stage) {
  rkernel::legalise(problem.tree, {.vector_registers = problem.isa.vector_registers});
  LoopFunction written(module, symbol, problem, loop_class);
  const LoopContext context(written, problem, loop_class, stage);
  const TicketDigits digits(context);
  codegen::Builder& builder = context.builder;
  Value* first = context.function->getArg(1);
  Value* end = builder.CreateAdd(first, context.function->getArg(2));
  codegen::Conditional any(builder, builder.CreateICmpSLT(first, end), "tickets");
  const LoopValues start = digits.of(first);
  CountedLoop tickets(builder, first, end, context.number(1), "ticket", start);
  LoopValues current;
  for (std::size_t i = 0; i < start.size(); ++i) current.push_back(tickets.carried(i));
  TicketEmitter ticket(context, current);
  rkernel::walk(problem.tree, ticket);
  tickets.close(digits.after(current));
  any.close();
  fence_streams(context);
  builder.CreateRetVoid();
}

}  // namespace

void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class) {
  emit_stage(module, symbol, problem, loop_class, LoopStage::First);
}

void emit_loop_merge(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                     const LoopClass& loop_class) {
  emit_stage(module, symbol, problem, loop_class, LoopStage::Merge);
}

}  // namespace dyn::cpu
