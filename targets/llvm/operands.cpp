#include "targets/llvm/operands.hpp"

#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "src/rkernel/target.hpp"
#include "targets/llvm/half.hpp"
#include "targets/llvm/loops.hpp"

namespace dyn::codegen {

namespace {

/// Nothing writes there while the kernel runs.
llvm::LoadInst* invariant(llvm::LoadInst* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
  return load;
}

llvm::Value* load_field(Builder& builder, llvm::Value* block, unsigned index) {
  llvm::Type* pointer = block->getType();  // what the table holds lies in the table's address space
  return invariant(builder.CreateAlignedLoad(pointer, builder.CreateConstGEP1_64(pointer, block, index), llvm::Align(8)));
}

llvm::Value* both(Builder& builder, llvm::Value* a, llvm::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const int width = std::max(width_of(a), width_of(b));
  return builder.CreateAnd(broadcast(builder, a, width), broadcast(builder, b, width));
}

}  // namespace

KernelArgsValues load_kernel_args(Builder& builder, llvm::Value* kernel_args) {
  return {load_field(builder, kernel_args, 0), load_field(builder, kernel_args, 1), load_field(builder, kernel_args, 2)};
}

Operands::Operands(Builder& builder, const rkernel::Problem& problem, const SlotTable& slots,
                   std::vector<StrideClass> lane_classes, KernelArgsValues args, int width)
    : builder_(builder), problem_(problem), slots_(slots), lane_classes_(std::move(lane_classes)), args_(args),
      width_(width), indices_(problem.axes.size(), nullptr) {}

llvm::Value* Operands::slot(int slot) {
  llvm::Type* type = builder_.getInt64Ty();
  llvm::Value* pointer = builder_.CreateConstInBoundsGEP1_64(type, args_.ints, static_cast<std::uint64_t>(slot));
  return invariant(builder_.CreateAlignedLoad(type, pointer, llvm::Align(8)));
}

llvm::Value* Operands::index(int axis) {
  llvm::Value* start = indices_[static_cast<std::size_t>(axis)];
  if (axis != problem_.lane_axis || width_ == 1) return start;
  return builder_.CreateAdd(broadcast(builder_, start, width_), iota(builder_, builder_.getInt64Ty(), width_));
}

llvm::Type* Operands::element_type(int operand) const {
  return memory_type(builder_.getContext(), operand_at(operand).dtype);
}

bool Operands::is_read_only(int operand) const {
  return std::none_of(problem_.operands.begin(), problem_.operands.end(), [&](const rkernel::Operand& other) {
    return other.written && other.buffer == operand_at(operand).buffer;
  });
}

llvm::Value* Operands::with_terms(int operand, Address& address, AxisSet inner) {
  llvm::Type* type = element_type(operand);
  if (address.base == nullptr) {
    address.base = load_field(builder_, args_.pointers, static_cast<unsigned>(operand));
    if (slots_.offset(operand) != SlotTable::none)
      address.base = builder_.CreateGEP(type, address.base, slot(slots_.offset(operand)));
  }
  for (int axis = 0; axis < static_cast<int>(problem_.axes.size()); ++axis) {
    llvm::Value* index = indices_[static_cast<std::size_t>(axis)];
    const AxisSet bit = axis_bit(axis);
    if (index == nullptr || ((inner | address.summed) & bit) != 0) continue;
    address.summed |= bit;
    const bool lanes = axis == problem_.lane_axis;
    const int stride = slots_.stride(operand, axis);
    if (stride == SlotTable::none || (lanes && lane_class(operand) == StrideClass::Zero)) continue;
    const bool unit = lanes && lane_class(operand) == StrideClass::Unit;
    address.base = builder_.CreateGEP(type, address.base, unit ? index : builder_.CreateMul(index, slot(stride)));
  }
  return address.base;
}

void Operands::enter(AxisSet inner) {
  std::vector<Address> addresses =
      addresses_.empty() ? std::vector<Address>(problem_.operands.size()) : addresses_.back();
  const int lane = problem_.lane_axis;
  for (int operand = 0; operand < static_cast<int>(addresses.size()); ++operand) {
    Address& address = addresses[static_cast<std::size_t>(operand)];
    if (operand_at(operand).form == rkernel::Form::Packed && !operand_at(operand).gathers) continue;
    with_terms(operand, address, inner);
    if (address.steps != nullptr || lane_class(operand) != StrideClass::Any || width_ == 1) continue;
    llvm::Value* stride = slots_.stride(operand, lane) == SlotTable::none ? builder_.getInt64(0)
                                                                          : slot(slots_.stride(operand, lane));
    address.steps = builder_.CreateMul(iota(builder_, builder_.getInt64Ty(), width_), broadcast(builder_, stride, width_));
  }
  addresses_.push_back(std::move(addresses));
}

void Operands::leave() { addresses_.pop_back(); }

llvm::Value* Operands::lanes_between(llvm::Value* low, llvm::Value* high) {
  llvm::Value* start = indices_[static_cast<std::size_t>(problem_.lane_axis)];
  llvm::Type* narrow = builder_.getInt32Ty();
  const auto relative = [&](llvm::Value* bound) {
    llvm::Value* from_start = builder_.CreateSub(bound, start);
    llvm::Value* above = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, from_start, builder_.getInt64(0));
    llvm::Value* clamped = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, above, builder_.getInt64(width_));
    return broadcast(builder_, builder_.CreateTrunc(clamped, narrow), width_);
  };
  llvm::Value* lane = iota(builder_, narrow, width_);
  llvm::Value* mask = nullptr;
  if (low != nullptr) mask = builder_.CreateICmpSGE(lane, relative(low));
  if (high != nullptr) mask = both(builder_, mask, builder_.CreateICmpSLT(lane, relative(high)));
  return mask;
}

llvm::Value* Operands::guarded(int operand, llvm::Value* mask, bool lanes) {
  for (int guard = 0; guard < static_cast<int>(operand_at(operand).guards.size()); ++guard) {
    const int axis = operand_at(operand).guards[static_cast<std::size_t>(guard)].axis;
    const int low_slot = slots_.guard_low(operand, guard), high_slot = slots_.guard_high(operand, guard);
    llvm::Value* low = low_slot == SlotTable::none ? nullptr : slot(low_slot);
    llvm::Value* high = high_slot == SlotTable::none ? nullptr : slot(high_slot);
    if (lanes && axis == problem_.lane_axis) {
      mask = both(builder_, mask, lanes_between(low, high));
      continue;
    }
    llvm::Value* index = indices_[static_cast<std::size_t>(axis)];
    if (low != nullptr) mask = both(builder_, mask, builder_.CreateICmpSGE(index, low));
    if (high != nullptr) mask = both(builder_, mask, builder_.CreateICmpSLT(index, high));
  }
  return mask;
}

void Operands::report_where(llvm::Value* bad) {
  Conditional report(builder_, any_lane(builder_, bad), "out_of_range");
  llvm::StoreInst* store = builder_.CreateAlignedStore(
      builder_.getInt32(static_cast<std::uint32_t>(rkernel::Status::IndexOutOfRange)), args_.status, llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  report.close();
}

llvm::Value* Operands::checked_gather(int operand, llvm::Value* gather, llvm::Value*& mask) {
  const int width = width_of(gather);
  llvm::Value* extent = broadcast(builder_, slot(slots_.gather_extent(operand)), width);
  llvm::Value* zero = llvm::ConstantInt::get(gather->getType(), 0);
  llvm::Value* from_end = builder_.CreateAdd(gather, extent);
  llvm::Value* index = builder_.CreateSelect(builder_.CreateICmpSLT(gather, zero), from_end, gather);
  llvm::Value* inside = builder_.CreateICmpULT(index, extent);
  llvm::Value* outside = builder_.CreateNot(inside);
  report_where(both(builder_, outside, mask));
  mask = both(builder_, mask, inside);
  llvm::Value* safe = builder_.CreateSelect(inside, index, zero);
  llvm::Value* stride = broadcast(builder_, slot(slots_.gather_stride(operand)), width);
  const std::int64_t panel = operand_at(operand).gather_panel;
  if (panel == 1) return builder_.CreateMul(safe, stride);
  const auto unsigned_panel = static_cast<std::uint64_t>(panel);
  llvm::Value* start = builder_.CreateMul(builder_.CreateLShr(safe, llvm::Log2_64(unsigned_panel)), stride);
  return builder_.CreateAdd(start, builder_.CreateAnd(safe, unsigned_panel - 1));
}

Operands::Access Operands::access(int operand, llvm::Value* gather, bool lanes) {
  Access result;
  const bool own_mask = mask_ != nullptr && (lanes || width_of(mask_) == 1);
  result.mask = guarded(operand, own_mask ? mask_ : nullptr, lanes);
  Address address = addresses_.back()[static_cast<std::size_t>(operand)];
  result.pointer = with_terms(operand, address, 0);
  llvm::Value* steps = lanes ? address.steps : nullptr;
  if (gather != nullptr) {
    llvm::Value* distance = checked_gather(operand, gather, result.mask);
    if (steps == nullptr && lane_class(operand) == StrideClass::Unit && width_of(distance) > 1)
      steps = iota(builder_, builder_.getInt64Ty(), width_);
    steps = steps == nullptr ? distance : builder_.CreateAdd(steps, broadcast(builder_, distance, width_of(steps)));
  }
  if (steps != nullptr) result.pointer = builder_.CreateGEP(element_type(operand), result.pointer, steps);
  return result;
}

/// A fill is a number of the register's type: a 16-bit float may not have it.
llvm::Value* Operands::in_register(int operand, llvm::Value* stored, llvm::Value* mask) {
  const rkernel::Operand& source = operand_at(operand);
  if (source.dtype == DType::boolean) return builder_.CreateICmpNE(stored, llvm::ConstantInt::get(stored->getType(), 0));
  if (!is_half(source.dtype)) return stored;
  llvm::Value* value = half_to_float(builder_, source.dtype, stored);
  if (mask == nullptr || source.fill == 0) return value;
  return builder_.CreateSelect(mask, value, llvm::ConstantFP::get(value->getType(), source.fill));
}

llvm::Value* Operands::in_memory(int operand, llvm::Value* value) {
  const DType dtype = operand_at(operand).dtype;
  if (dtype == DType::boolean) return builder_.CreateZExt(value, lanes_of(element_type(operand), width_of(value)));
  return is_half(dtype) ? float_to_half(builder_, dtype, value) : value;
}

llvm::Value* Operands::load(int operand, llvm::Value* gather, bool lanes) {
  const rkernel::Operand& source = operand_at(operand);
  lanes = lanes && width_ > 1;
  Access from = access(operand, gather, lanes);
  llvm::Type* element = element_type(operand);
  llvm::Type* type = lanes_of(element, lanes ? width_ : 1);
  const llvm::Align align(size_of(source.dtype));
  llvm::Value* fill = element->isFloatingPointTy()
                          ? llvm::ConstantFP::get(type, source.fill)
                          : llvm::ConstantInt::getSigned(type, is_half(source.dtype) ? 0 : static_cast<std::int64_t>(source.fill));
  llvm::Value* value;
  if (!lanes) {
    // A load that must not happen reads the slots instead, which are always there.
    llvm::Value* pointer = from.mask == nullptr ? from.pointer : builder_.CreateSelect(from.mask, from.pointer, args_.ints);
    llvm::LoadInst* load = builder_.CreateAlignedLoad(type, pointer, align);
    value = is_read_only(operand) ? invariant(load) : load;
    if (from.mask != nullptr) value = builder_.CreateSelect(from.mask, value, fill);
  } else if (width_of(from.pointer) > 1) {
    llvm::Value* all = llvm::ConstantInt::getTrue(lanes_of(builder_.getInt1Ty(), width_));
    llvm::Value* mask = from.mask == nullptr ? all : broadcast(builder_, from.mask, width_);
    value = builder_.CreateMaskedGather(type, from.pointer, align, mask, fill);
  } else if (lane_class(operand) == StrideClass::Zero) {
    // The element is the same for all lanes; only the guard varies.
    llvm::Value* any = from.mask == nullptr ? builder_.getTrue() : any_lane(builder_, from.mask);
    llvm::Value* pointer = builder_.CreateSelect(any, from.pointer, args_.ints);
    value = broadcast(builder_, builder_.CreateAlignedLoad(element, pointer, align), width_);
    if (from.mask != nullptr) value = builder_.CreateSelect(from.mask, value, fill);
  } else if (from.mask == nullptr) {
    value = builder_.CreateAlignedLoad(type, from.pointer, align);
  } else {
    value = builder_.CreateMaskedLoad(type, from.pointer, align, broadcast(builder_, from.mask, width_), fill);
  }
  return in_register(operand, value, from.mask);
}

void Operands::store(int operand, llvm::Value* value) {
  const bool lanes = width_of(value) > 1;
  Access to = access(operand, nullptr, lanes);
  const llvm::Align align(size_of(operand_at(operand).dtype));
  value = in_memory(operand, value);
  llvm::Value* all = llvm::ConstantInt::getTrue(lanes_of(builder_.getInt1Ty(), width_));
  if (width_of(to.pointer) > 1) {
    builder_.CreateMaskedScatter(value, to.pointer, align, to.mask == nullptr ? all : broadcast(builder_, to.mask, width_));
  } else if (to.mask == nullptr) {
    builder_.CreateAlignedStore(value, to.pointer, align);
  } else if (lanes) {
    builder_.CreateMaskedStore(value, to.pointer, align, broadcast(builder_, to.mask, width_));
  } else {
    Conditional exists(builder_, to.mask, "store");
    builder_.CreateAlignedStore(value, to.pointer, align);
    exists.close();
  }
}

}  // namespace dyn::codegen
