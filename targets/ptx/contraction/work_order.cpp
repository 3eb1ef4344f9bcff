#include "targets/ptx/contraction/work_order.hpp"

#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"

namespace dyn::ptx {

std::vector<llvm::Value*> Work::values() const {
  if (shared_tile == nullptr) return {ticket};
  return {ticket, shared_tile, first_step, left};
}

Work Work::from(std::span<llvm::Value* const> values, bool split) {
  if (!split) return {values[0]};
  return {values[0], values[1], values[2], values[3]};
}

void WorkOrder::prepare(llvm::Value* steps) {
  steps_ = steps;
  blocks_ = call(builder_, Op::Blocks);
  if (before_ == nullptr) return;
  first_ticket_ = builder_.CreateTrunc(values_.slot(before_->tickets), builder_.getInt32Ty());
}

Work WorkOrder::first() {
  llvm::Value* block = call(builder_, Op::Block);
  if (first_ticket_ == nullptr) return begin(block);
  llvm::Value* passed = builder_.CreateSub(builder_.CreateAdd(block, blocks_),
                                           builder_.CreateURem(first_ticket_, blocks_));
  return begin(builder_.CreateAdd(first_ticket_, builder_.CreateURem(passed, blocks_)));
}

// A ticket that does not exist gives numbers that nobody uses.
Work WorkOrder::begin(llvm::Value* ticket) {
  if (!split_) return {ticket};
  llvm::Value* steps = larger(builder_, steps_, number(builder_, 1));
  llvm::Value *whole = values_.loaded(grid_.whole), *span = values_.loaded(grid_.span);
  llvm::Value* is_whole = builder_.CreateICmpSLT(ticket, whole);
  llvm::Value* sharing = builder_.CreateSub(ticket, whole);
  llvm::Value* at = builder_.CreateMul(sharing, span);
  llvm::Value* tile = builder_.CreateUDiv(at, steps);
  llvm::Value* in_tile = builder_.CreateSub(at, builder_.CreateMul(tile, steps));
  llvm::Value* rest =
      smaller(builder_, span, builder_.CreateSub(values_.loaded(grid_.shared_steps), at));
  return {ticket, builder_.CreateSelect(is_whole, sharing, tile),
          builder_.CreateSelect(is_whole, number(builder_, 0), in_tile),
          builder_.CreateSelect(is_whole, steps_, rest)};
}

Work WorkOrder::after(const Work& work) {
  llvm::Value* ticket = builder_.CreateAdd(work.ticket, blocks_);
  if (!split_) return {ticket};
  llvm::Value* left =
      builder_.CreateSub(work.left, builder_.CreateSub(end_step(work), work.first_step));
  llvm::Value* goes_on = builder_.CreateICmpSGT(left, number(builder_, 0));
  const Work other = begin(ticket);
  return {builder_.CreateSelect(goes_on, work.ticket, other.ticket),
          builder_.CreateSelect(goes_on, builder_.CreateAdd(work.shared_tile, number(builder_, 1)),
                                other.shared_tile),
          builder_.CreateSelect(goes_on, number(builder_, 0), other.first_step),
          builder_.CreateSelect(goes_on, left, other.left)};
}

llvm::Value* WorkOrder::exists(const Work& work) {
  return builder_.CreateICmpSLT(work.ticket, values_.loaded(grid_.tickets));
}

llvm::Value* WorkOrder::tile(const Work& work) {
  if (split_) return builder_.CreateAdd(values_.loaded(grid_.whole), work.shared_tile);
  return first_ticket_ == nullptr ? work.ticket : builder_.CreateSub(work.ticket, first_ticket_);
}

llvm::Value* WorkOrder::end_step(const Work& work) {
  if (!split_) return steps_;
  return builder_.CreateAdd(
      work.first_step, smaller(builder_, builder_.CreateSub(steps_, work.first_step), work.left));
}

llvm::Value* WorkOrder::sharing_ticket(const Work& work) {
  return builder_.CreateSub(work.ticket, values_.loaded(grid_.whole));
}

}  // namespace dyn::ptx
