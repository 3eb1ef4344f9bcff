#include "targets/llvm/problem/operands.hpp"

#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <string>

#include "graph/ir/scalars.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/math/half.hpp"

namespace dyn::codegen {

namespace {

/// Streaming stores should fill whole cache lines of so many bytes.
constexpr std::uint64_t stream_align = 64;
/// Distance of prefetched lines.
constexpr std::uint64_t read_ahead_bytes = 8192;

/// Nothing writes there while the kernel runs.
llvm::LoadInst* invariant(llvm::LoadInst* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                    llvm::MDNode::get(load->getContext(), {}));
  return load;
}

llvm::Value* load_field(Builder& builder, llvm::Value* block, unsigned index) {
  llvm::Type* pointer =
      block->getType();  // the table's pointers are in the table's own address space
  return invariant(builder.CreateAlignedLoad(
      pointer, builder.CreateConstGEP1_64(pointer, block, index), llvm::Align(8)));
}

/// The fill in every lane of `type`, as memory holds elements; 16-bit floats get theirs in
/// registers.
llvm::Constant* fill_of(const rkernel::Operand& operand, llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::get(type, operand.fill);
  if (is_half(operand.dtype)) return llvm::Constant::getNullValue(type);
  const std::int64_t fill = graph::saturated(operand.dtype, operand.fill);
  return is_unsigned(operand.dtype) ? llvm::ConstantInt::get(type, static_cast<std::uint64_t>(fill))
                                    : llvm::ConstantInt::getSigned(type, fill);
}

}  // namespace

KernelArgsValues load_kernel_args(Builder& builder, llvm::Value* kernel_args) {
  return {load_field(builder, kernel_args, 0), load_field(builder, kernel_args, 1),
          load_field(builder, kernel_args, 2)};
}

llvm::Value* load_shared_memory(Builder& builder, llvm::Value* kernel_args) {
  return load_field(builder, kernel_args, 3);
}

Operands::Operands(Builder& builder, const rkernel::Problem& problem, const SlotTable& slots,
                   std::vector<StrideClass> lane_classes, KernelArgsValues args, int width)
    : builder_(builder),
      problem_(problem),
      slots_(slots),
      lane_classes_(std::move(lane_classes)),
      args_(args),
      width_(width),
      indices_(problem.axes.size(), nullptr) {}

llvm::Value* Operands::slot(int slot) {
  llvm::Type* type = builder_.getInt64Ty();
  llvm::Value* pointer =
      builder_.CreateConstInBoundsGEP1_64(type, args_.ints, static_cast<std::uint64_t>(slot));
  return invariant(builder_.CreateAlignedLoad(type, pointer, llvm::Align(8)));
}

llvm::Value* Operands::slot_like(int slot, llvm::Value* index) {
  llvm::Type* type = index->getType()->getScalarType();
  return builder_.CreateTrunc(this->slot(slot), type);
}

llvm::Value* Operands::index(int axis) {
  llvm::Value* start =
      builder_.CreateSExt(indices_[static_cast<std::size_t>(axis)], builder_.getInt64Ty());
  if (axis != problem_.lane_axis || width_ == 1) return start;
  return builder_.CreateAdd(broadcast(builder_, start, width_),
                            iota(builder_, builder_.getInt64Ty(), width_));
}

llvm::Type* Operands::element_type(int operand) const {
  return memory_type(builder_.getContext(), operand_at(operand).dtype);
}

bool Operands::is_narrow() const {
  return std::ranges::any_of(indices_, [](const llvm::Value* index) {
    return index != nullptr && index->getType()->isIntegerTy(32);
  });
}

llvm::Align Operands::align_of(int operand, int width) const {
  const std::size_t element = size_of(operand_at(operand).dtype);
  return llvm::Align(aligned_ ? element * static_cast<std::size_t>(width) : element);
}

bool Operands::is_read_only(int operand) const {
  return std::none_of(problem_.operands.begin(), problem_.operands.end(),
                      [&](const rkernel::Operand& other) {
                        return other.written && other.buffer == operand_at(operand).buffer;
                      });
}

llvm::Value* Operands::with_terms(int operand, Address& address, AxisSet inner) {
  llvm::Type* type = element_type(operand);
  llvm::Value* narrow = nullptr;  // the sum of i32 terms
  if (address.base == nullptr) {
    address.base = load_field(builder_, args_.pointers, static_cast<unsigned>(operand));
    if (slots_.offset(operand) != SlotTable::none) {
      llvm::Value* offset = slot(slots_.offset(operand));
      if (is_narrow())
        narrow = builder_.CreateTrunc(offset, builder_.getInt32Ty());
      else
        address.base = builder_.CreateGEP(type, address.base, offset);
    }
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
    llvm::Value* term = unit ? index : builder_.CreateMul(index, slot_like(stride, index));
    if (index->getType()->isIntegerTy(64))
      address.base = builder_.CreateGEP(type, address.base, term);
    else
      narrow = narrow == nullptr ? term : builder_.CreateAdd(narrow, term);
  }
  if (narrow != nullptr) address.base = builder_.CreateGEP(type, address.base, narrow);
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
    if (address.steps != nullptr || lane_class(operand) != StrideClass::Any || width_ == 1)
      continue;
    llvm::Value* stride = slots_.stride(operand, lane) == SlotTable::none
                              ? builder_.getInt64(0)
                              : slot(slots_.stride(operand, lane));
    address.steps = builder_.CreateMul(iota(builder_, builder_.getInt64Ty(), width_),
                                       broadcast(builder_, stride, width_));
  }
  addresses_.push_back(std::move(addresses));
  gathers_.push_back(gathers_.empty() ? Gathers() : gathers_.back());
}

void Operands::leave() {
  addresses_.pop_back();
  gathers_.pop_back();
}

llvm::Value* Operands::pointer(int operand) {
  Address address = addresses_.back()[static_cast<std::size_t>(operand)];
  return with_terms(operand, address, 0);
}

llvm::Value* Operands::load_run(int operand, int count) {
  const llvm::Align align(static_cast<std::uint64_t>(count) * size_of(operand_at(operand).dtype));
  llvm::LoadInst* load =
      builder_.CreateAlignedLoad(lanes_of(element_type(operand), count), pointer(operand), align);
  return is_read_only(operand) ? invariant(load) : load;
}

void Operands::prefetch_ahead(int operand, int axis, llvm::Value* steps, CacheLevel to) {
  const int stride = slots_.stride(operand, axis);
  if (stride == SlotTable::none) return;
  codegen::prefetch(builder_,
                    builder_.CreateGEP(element_type(operand), pointer(operand),
                                       builder_.CreateMul(slot(stride), steps)),
                    to);
}

llvm::Value* Operands::gathered_pointer(int operand, llvm::Value* gather) {
  llvm::Value* from_end = builder_.CreateAdd(gather, slot(slots_.gather_extent(operand)));
  llvm::Value* index =
      builder_.CreateSelect(builder_.CreateICmpSLT(gather, builder_.getInt64(0)), from_end, gather);
  return builder_.CreateGEP(element_type(operand), pointer(operand),
                            gather_distance(operand, index));
}

void Operands::report_where(llvm::Value* bad) {
  Conditional report(builder_, any_lane(builder_, bad), "out_of_range");
  llvm::StoreInst* store = builder_.CreateAlignedStore(
      builder_.getInt32(static_cast<std::uint32_t>(rkernel::Status::IndexOutOfRange)), args_.status,
      llvm::Align(4));
  store->setAtomic(llvm::AtomicOrdering::Monotonic);
  report.close();
}

Operands::Gathered Operands::check_gather(int operand, llvm::Value* gather, llvm::Value* mask) {
  const int width = width_of(gather);
  llvm::Value* extent = broadcast(builder_, slot(slots_.gather_extent(operand)), width);
  llvm::Value* zero = llvm::ConstantInt::get(gather->getType(), 0);
  llvm::Value* from_end = builder_.CreateAdd(gather, extent);
  llvm::Value* index =
      builder_.CreateSelect(builder_.CreateICmpSLT(gather, zero), from_end, gather);
  llvm::Value* inside = builder_.CreateICmpULT(index, extent);
  llvm::Value* outside = builder_.CreateNot(inside);
  report_where(both(builder_, outside, mask));
  return {gather_distance(operand, builder_.CreateSelect(inside, index, zero)), inside};
}

llvm::Value* Operands::gather_distance(int operand, llvm::Value* index) {
  llvm::Value* stride = broadcast(builder_, slot(slots_.gather_stride(operand)), width_of(index));
  const std::int64_t panel = operand_at(operand).gather_panel;
  if (panel == 1) return builder_.CreateMul(index, stride);
  const auto unsigned_panel = static_cast<std::uint64_t>(panel);
  llvm::Value* start =
      builder_.CreateMul(builder_.CreateLShr(index, llvm::Log2_64(unsigned_panel)), stride);
  return builder_.CreateAdd(start, builder_.CreateAnd(index, unsigned_panel - 1));
}

void Operands::prepare_gather(int operand, llvm::Value* gather) {
  if (!operand_at(operand).guards.empty() || width_of(gather) > 1 ||
      gathers_.back().contains({operand, gather}))
    return;
  gathers_.back()[{operand, gather}] = check_gather(operand, gather, nullptr);
}

llvm::Value* Operands::checked_gather(int operand, llvm::Value* gather, Access& access) {
  const auto prepared = gathers_.back().find({operand, gather});
  const Gathered checked = prepared != gathers_.back().end()
                               ? prepared->second
                               : check_gather(operand, gather, whole_mask(access));
  llvm::Value*& condition = width_of(checked.inside) > 1 ? access.mask : access.all;
  condition = both(builder_, condition, checked.inside);
  return checked.distance;
}

Operands::Access Operands::access(int operand, llvm::Value* gather, bool lanes) {
  Access result;
  const bool own_mask = mask_ != nullptr && (lanes || width_of(mask_) == 1);
  if (own_mask) (width_of(mask_) > 1 ? result.mask : result.all) = mask_;
  add_guards(operand, result, lanes);
  Address address = addresses_.back()[static_cast<std::size_t>(operand)];
  result.pointer = with_terms(operand, address, 0);
  llvm::Value* steps = lanes ? address.steps : nullptr;
  if (gather != nullptr) {
    llvm::Value* distance = checked_gather(operand, gather, result);
    if (steps == nullptr && lane_class(operand) == StrideClass::Unit && width_of(distance) > 1)
      steps = iota(builder_, builder_.getInt64Ty(), width_);
    steps = steps == nullptr
                ? distance
                : builder_.CreateAdd(steps, broadcast(builder_, distance, width_of(steps)));
  }
  if (steps != nullptr)
    result.pointer = builder_.CreateGEP(element_type(operand), result.pointer, steps);
  return result;
}

/// A fill is a number of the register's type, which a 16-bit float may lack.
llvm::Value* Operands::in_register(int operand, llvm::Value* stored, llvm::Value* mask) {
  const rkernel::Operand& source = operand_at(operand);
  if (source.dtype == DType::boolean)
    return builder_.CreateICmpNE(stored, llvm::ConstantInt::get(stored->getType(), 0));
  if (!is_half(source.dtype)) return stored;
  llvm::Value* value = half_to_float(builder_, source.dtype, stored);
  if (mask == nullptr || source.fill == 0) return value;
  return builder_.CreateSelect(broadcast(builder_, mask, width_of(value)), value,
                               llvm::ConstantFP::get(value->getType(), source.fill));
}

llvm::Value* Operands::in_memory(int operand, llvm::Value* value) {
  const DType dtype = operand_at(operand).dtype;
  if (dtype == DType::boolean)
    return builder_.CreateZExt(value, lanes_of(element_type(operand), width_of(value)));
  return is_half(dtype) ? float_to_half(builder_, dtype, value) : value;
}

llvm::Value* Operands::fill_block(int operand, llvm::Constant* fill) {
  llvm::Module& module = *builder_.GetInsertBlock()->getModule();
  const std::string name = "fill_of_operand_" + std::to_string(operand);
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) return known;
  return new llvm::GlobalVariable(module, fill->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  fill, name);
}

llvm::Value* Operands::load_vector(int operand, const Access& from) {
  const rkernel::Operand& source = operand_at(operand);
  llvm::Type* element = element_type(operand);
  llvm::Type* type = lanes_of(element, width_);
  const llvm::Align align(size_of(source.dtype));
  llvm::Constant* fill = fill_of(source, type);
  if (aligned_ && lane_class(operand) == StrideClass::Unit) return load_aligned(operand, from);
  if (width_of(from.pointer) > 1) {
    llvm::Value* mask = whole_mask(from);
    mask = mask == nullptr ? llvm::ConstantInt::getTrue(lanes_of(builder_.getInt1Ty(), width_))
                           : broadcast(builder_, mask, width_);
    return builder_.CreateMaskedGather(type, from.pointer, align, mask, fill);
  }
  if (lane_class(operand) == StrideClass::Zero) {
    // The element is the same for all lanes; only the guard varies.
    llvm::Value* mask = whole_mask(from);
    llvm::Value* any = mask == nullptr ? builder_.getTrue() : any_lane(builder_, mask);
    llvm::Value* pointer = builder_.CreateSelect(any, from.pointer, args_.ints);
    llvm::Value* value =
        broadcast(builder_, builder_.CreateAlignedLoad(element, pointer, align), width_);
    return mask == nullptr ? value
                           : builder_.CreateSelect(broadcast(builder_, mask, width_), value, fill);
  }
  if (few_of(lane_class(operand)) > 0) return load_apart(operand, from);
  // A masked load whose lanes are all off may still walk page tables, slowly: a condition for all
  // lanes chooses an address instead.
  llvm::Value* pointer = from.all == nullptr ? from.pointer
                                             : builder_.CreateSelect(from.all, from.pointer,
                                                                     fill_block(operand, fill));
  if (from.mask != nullptr) return builder_.CreateMaskedLoad(type, pointer, align, from.mask, fill);
  if (reading_ahead_ && !source.gathers)
    codegen::prefetch(builder_, builder_.CreateConstGEP1_64(builder_.getInt8Ty(), from.pointer,
                                                            read_ahead_bytes));
  return builder_.CreateAlignedLoad(type, pointer, align);
}

/// Where the vector does not exist nothing is read: a branch, since no other address is known to be
/// aligned.
llvm::Value* Operands::load_aligned(int operand, const Access& from) {
  llvm::Type* type = lanes_of(element_type(operand), width_);
  const auto read = [&] {
    llvm::LoadInst* load =
        builder_.CreateAlignedLoad(type, from.pointer, align_of(operand, width_));
    return is_read_only(operand) ? invariant(load) : load;
  };
  llvm::Value* exists = whole_mask(from);
  if (exists == nullptr) return read();
  Conditional inside(builder_, exists, "load");
  llvm::Value* loaded[] = {read()};
  llvm::Value* fill[] = {fill_of(operand_at(operand), type)};
  return inside.close(loaded, fill).front();
}

/// As many loads as the stride is, of which the last one ends with the last element.
llvm::Value* Operands::load_apart(int operand, const Access& from) {
  const int stride = few_of(lane_class(operand));
  llvm::Type* element = element_type(operand);
  llvm::Type* type = lanes_of(element, width_);
  const llvm::Align align(size_of(operand_at(operand).dtype));
  if (llvm::Value* mask = whole_mask(from)) {
    llvm::Value* places = builder_.CreateMul(
        iota(builder_, builder_.getInt64Ty(), width_),
        broadcast(builder_, builder_.getInt64(static_cast<std::uint64_t>(stride)), width_));
    return builder_.CreateMaskedGather(type, builder_.CreateGEP(element, from.pointer, places),
                                       align, broadcast(builder_, mask, width_),
                                       fill_of(operand_at(operand), type));
  }
  llvm::Value* joined = nullptr;
  for (int part = 0; part < stride; ++part) {
    const int first = part * (width_ - 1);
    llvm::Value* loaded = builder_.CreateAlignedLoad(
        type, builder_.CreateConstGEP1_64(element, from.pointer, static_cast<std::uint64_t>(first)),
        align);
    std::vector<int> taken;
    for (int lane = 0; lane < width_; ++lane) {
      const bool is_before = part > 0 && lane * stride <= first;
      taken.push_back(is_before ? lane : width_ + std::min(lane * stride - first, width_ - 1));
    }
    joined = builder_.CreateShuffleVector(joined == nullptr ? loaded : joined, loaded, taken);
  }
  return joined;
}

/// The elements between them are not touched: other threads may write them.
void Operands::store_apart(int operand, llvm::Value* value, const Access& to) {
  const int stride = few_of(lane_class(operand));
  llvm::Value* mask = whole_mask(to);
  mask = mask == nullptr ? llvm::ConstantInt::getTrue(lanes_of(builder_.getInt1Ty(), width_))
                         : broadcast(builder_, mask, width_);
  llvm::Value* none = llvm::Constant::getNullValue(mask->getType());
  for (int part = 0; part < stride; ++part) {
    std::vector<int> spread, masked;
    for (int lane = 0; lane < width_; ++lane) {
      const int place = part * width_ + lane;
      spread.push_back(place / stride);
      masked.push_back(place % stride == 0 ? place / stride : width_);
    }
    llvm::Value* first = builder_.CreateConstGEP1_64(element_type(operand), to.pointer,
                                                     static_cast<std::uint64_t>(part * width_));
    builder_.CreateMaskedStore(builder_.CreateShuffleVector(value, spread), first,
                               llvm::Align(size_of(operand_at(operand).dtype)),
                               builder_.CreateShuffleVector(mask, none, masked));
  }
}

llvm::Value* Operands::load(int operand, llvm::Value* gather, bool lanes) {
  const Access from = access(operand, gather, lanes && width_ > 1);
  if (lanes && width_ > 1)
    return in_register(operand, load_vector(operand, from), whole_mask(from));
  llvm::Type* type = element_type(operand);
  const rkernel::Operand& source = operand_at(operand);
  // Where a load must not happen it reads the slots instead, which are always there.
  llvm::Value* mask = whole_mask(from);
  llvm::Value* pointer =
      mask == nullptr ? from.pointer : builder_.CreateSelect(mask, from.pointer, args_.ints);
  llvm::LoadInst* load =
      builder_.CreateAlignedLoad(type, pointer, llvm::Align(size_of(source.dtype)));
  llvm::Value* value = is_read_only(operand) ? invariant(load) : load;
  if (mask != nullptr) value = builder_.CreateSelect(mask, value, fill_of(source, type));
  return in_register(operand, value, mask);
}

bool Operands::are_alike(int first, int second) const {
  const rkernel::Operand &a = operand_at(first), &b = operand_at(second);
  return a.dtype == b.dtype && a.fill == b.fill && lane_class(first) == StrideClass::Unit &&
         lane_class(second) == StrideClass::Unit;
}

llvm::Value* Operands::load_one_of(std::span<const Choice> choices) {
  const auto either = [&](llvm::Value* condition, llvm::Value* yes, llvm::Value* no) {
    const int width = std::max(width_of(yes), width_of(no));
    return yes == no ? yes
                     : builder_.CreateSelect(condition, broadcast(builder_, yes, width),
                                             broadcast(builder_, no, width));
  };
  const auto or_all = [&](llvm::Value* mask) -> llvm::Value* {
    return mask == nullptr ? builder_.getTrue() : mask;
  };
  Access from = access(choices.back().operand, nullptr, true);
  for (std::size_t i = choices.size() - 1; i-- > 0;) {
    const Access here = access(choices[i].operand, nullptr, true);
    from.pointer = either(choices[i].condition, here.pointer, from.pointer);
    if (here.mask != from.mask)
      from.mask = either(choices[i].condition, or_all(here.mask), or_all(from.mask));
    if (here.all != from.all)
      from.all = either(choices[i].condition, or_all(here.all), or_all(from.all));
  }
  const int operand = choices.front().operand;
  return in_register(operand, load_vector(operand, from), whole_mask(from));
}

void Operands::store(int operand, llvm::Value* value) {
  const bool lanes = width_of(value) > 1;
  Access to = access(operand, nullptr, lanes);
  llvm::Value* mask = whole_mask(to);
  const llvm::Align align = align_of(operand, width_of(value));
  value = in_memory(operand, value);
  llvm::Value* all = llvm::ConstantInt::getTrue(lanes_of(builder_.getInt1Ty(), width_));
  if (width_of(to.pointer) > 1) {
    builder_.CreateMaskedScatter(value, to.pointer, align,
                                 mask == nullptr ? all : broadcast(builder_, mask, width_));
  } else if (lanes && few_of(lane_class(operand)) > 0) {
    store_apart(operand, value, to);
  } else if (mask == nullptr && lanes && holding_) {
    held_stores_.push_back({value, to.pointer, align.value()});
  } else if (mask == nullptr) {
    builder_.CreateAlignedStore(value, to.pointer, align);
  } else if (lanes && !aligned_) {
    builder_.CreateMaskedStore(value, to.pointer, align, broadcast(builder_, mask, width_));
  } else {
    Conditional exists(builder_, mask, "store");
    builder_.CreateAlignedStore(value, to.pointer, align);
    exists.close();
  }
}

void Operands::release_stores(llvm::Value* streams) {
  const auto write = [&](bool streaming) {
    for (const HeldStore& store : held_stores_) {
      const std::uint64_t bytes =
          store.element_bytes * static_cast<std::uint64_t>(width_of(store.value));
      const std::uint64_t align =
          streaming ? std::min<std::uint64_t>(bytes, stream_align) : store.element_bytes;
      llvm::StoreInst* written =
          builder_.CreateAlignedStore(store.value, store.pointer, llvm::Align(align));
      if (!streaming) continue;
      llvm::Metadata* one = llvm::ConstantAsMetadata::get(builder_.getInt32(1));
      written->setMetadata(llvm::LLVMContext::MD_nontemporal,
                           llvm::MDNode::get(builder_.getContext(), one));
    }
  };
  if (streams != nullptr && !held_stores_.empty()) {
    Conditional past_caches(builder_, streams, "stream");
    write(true);
    past_caches.close();
    Conditional through_caches(builder_, builder_.CreateNot(streams), "store");
    write(false);
    through_caches.close();
  } else {
    write(false);
  }
  held_stores_.clear();
  holding_ = false;
}

}  // namespace dyn::codegen
