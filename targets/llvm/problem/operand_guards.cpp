// Guards and masks tell where elements exist.

#include <algorithm>
#include <utility>

#include "targets/llvm/problem/operands.hpp"

namespace dyn::codegen {

llvm::Value* Operands::lanes_between(llvm::Value* low, llvm::Value* high) {
  llvm::Value* start = indices_[static_cast<std::size_t>(problem_.lane_axis)];
  llvm::Type* narrow = builder_.getInt32Ty();
  const auto relative = [&](llvm::Value* bound) {
    llvm::Value* from_start = builder_.CreateSub(bound, start);
    llvm::Value* above =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, from_start, builder_.getInt64(0));
    llvm::Value* clamped =
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, above, builder_.getInt64(width_));
    return broadcast(builder_, builder_.CreateTrunc(clamped, narrow), width_);
  };
  llvm::Value* lane = iota(builder_, narrow, width_);
  llvm::Value* mask = nullptr;
  if (low != nullptr) mask = builder_.CreateICmpSGE(lane, relative(low));
  if (high != nullptr) mask = both(builder_, mask, builder_.CreateICmpSLT(lane, relative(high)));
  return mask;
}

void Operands::add_guards(int operand, Access& access, bool lanes) {
  for (int guard = 0; guard < static_cast<int>(operand_at(operand).guards.size()); ++guard) {
    if (operand == held_operand_ && std::ranges::find(held_guards_, guard) != held_guards_.end())
      continue;
    const rkernel::Guard& range = operand_at(operand).guards[static_cast<std::size_t>(guard)];
    const int low_slot = slots_.guard_low(operand, guard),
              high_slot = slots_.guard_high(operand, guard);
    const auto bound = [&](int slot, llvm::Value* place) {
      return slot == SlotTable::none ? nullptr : slot_like(slot, place);
    };
    if (lanes && range.range_axis() == problem_.lane_axis && !segmented_) {
      llvm::Value* start = lane_start();
      access.mask = both(builder_, access.mask,
                         lanes_between(bound(low_slot, start), bound(high_slot, start)));
      continue;
    }
    llvm::Value* place =
        guarded_place(operand, guard, lanes && !(segmented_ && range.range_axis()));
    llvm::Value *low = bound(low_slot, place), *high = bound(high_slot, place);
    const int width = width_of(place);
    llvm::Value*& condition = width > 1 ? access.mask : access.all;
    if (low != nullptr)
      condition =
          both(builder_, condition, builder_.CreateICmpSGE(place, broadcast(builder_, low, width)));
    if (high != nullptr)
      condition = both(builder_, condition,
                       builder_.CreateICmpSLT(place, broadcast(builder_, high, width)));
  }
}

Operands::Range Operands::indices_within(int operand, int guard, int axis) {
  llvm::Value*& index = indices_[static_cast<std::size_t>(axis)];
  llvm::Value* here = std::exchange(index, builder_.getInt64(0));
  llvm::Value* first = guarded_place(operand, guard, false);
  index = here;
  const int low = slots_.guard_low(operand, guard), high = slots_.guard_high(operand, guard);
  llvm::Value* begin = low == SlotTable::none ? builder_.getInt64(0) : slot(low);
  llvm::Value* end =
      high == SlotTable::none ? slot(slots_.extent(axis)) : builder_.CreateSub(slot(high), first);
  return {builder_.CreateSub(begin, first), end};
}

/// The sum that a guard bounds; with `lanes` and a term along the lane axis, one sum for each lane.
llvm::Value* Operands::guarded_place(int operand, int guard, bool lanes) {
  const auto& terms = operand_at(operand).guards[static_cast<std::size_t>(guard)].terms;
  llvm::Value* sum = nullptr;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const int axis = terms[i].axis;
    llvm::Value* value = lanes && axis == problem_.lane_axis
                             ? index(axis)
                             : indices_[static_cast<std::size_t>(axis)];
    const int factor = slots_.guard_factor(operand, guard, i);
    if (factor != SlotTable::none)
      value =
          builder_.CreateMul(value, broadcast(builder_, slot_like(factor, value), width_of(value)));
    if (sum == nullptr) {
      sum = value;
      continue;
    }
    const int width = std::max(width_of(sum), width_of(value));
    sum = builder_.CreateAdd(broadcast(builder_, sum, width), broadcast(builder_, value, width));
  }
  return sum == nullptr ? builder_.getInt64(0) : sum;
}

llvm::Value* Operands::whole_mask(const Access& access) {
  return both(builder_, access.mask, access.all);
}

}  // namespace dyn::codegen
