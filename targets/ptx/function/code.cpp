#include "targets/ptx/function/code.hpp"

#include <fmt/format.h>

#include <limits>

#include "dyn/error.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/divider.hpp"

namespace dyn::ptx {

using llvm::Value;

Digit add_digit(codegen::SlotTable& slots) {
  const int count = slots.add_strategy_slot(), multiplier = slots.add_strategy_slot();
  return {count, multiplier, slots.add_strategy_slot()};
}

void set_digit(const Digit& digit, std::int64_t extent, std::span<std::int64_t> ints) {
  const Divider divider = divider_of(extent, 32);
  ints[static_cast<std::size_t>(digit.count)] = extent;
  ints[static_cast<std::size_t>(digit.multiplier)] = static_cast<std::int64_t>(divider.multiplier);
  ints[static_cast<std::size_t>(digit.shift)] = divider.shift;
}

std::int64_t set_digits(std::span<const Digit> digits, std::span<const graph::Dim> dims,
                        std::span<const std::int64_t> symbols, std::span<std::int64_t> ints) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::int64_t extent = graph::evaluate(dims[i], symbols);
    set_digit(digits[i], extent, ints);
    elements *= extent;
  }
  return elements;
}

void require_short(const std::string& operator_name, std::int64_t elements) {
  if (elements <= std::numeric_limits<std::int32_t>::max()) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("{} of {} elements: a GPU kernel takes up to 2^31 - 1; run the model on "
                          "the CPU, or with smaller sizes",
                          operator_name, elements));
}

FunctionPart add_part(codegen::SlotTable& slots, const rkernel::HostPart& part) {
  FunctionPart made{part.operand, part.dtype, slots.add(part.offset), {}};
  for (const graph::Dim stride : part.strides) made.strides.push_back(slots.add(stride));
  return made;
}

FunctionCode::FunctionCode(llvm::Module& module, const std::string& symbol, int shared_bytes,
                           NumberReads reads, int resident)
    : builder_(builder_for(module)),
      reads_(reads),
      function_(create_kernel(builder_, module, symbol, function_threads, shared_bytes, resident)),
      thread_(call(builder_, Op::Thread)) {}

namespace {

llvm::Align align_of(const FunctionPart& part) { return llvm::Align(size_of(part.dtype)); }

llvm::IntegerType* bits_type(codegen::Builder& builder, const FunctionPart& part) {
  return builder.getIntNTy(static_cast<unsigned>(8 * size_of(part.dtype)));
}

}  // namespace

/// The tables do not change while the kernel runs.
Value* FunctionCode::table_entry(llvm::Type* type, int argument, int index) {
  Value* at = builder_.CreateConstInBoundsGEP1_64(
      type, function_->getArg(static_cast<unsigned>(argument)), static_cast<std::uint64_t>(index));
  llvm::LoadInst* load = builder_.CreateAlignedLoad(type, at, llvm::Align(8));
  if (reads_ == NumberReads::Ahead)
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(builder_.getContext(), {}));
  return load;
}

Value* FunctionCode::wide(int slot) { return table_entry(builder_.getInt64Ty(), 1, slot); }

Value* FunctionCode::word(int slot) {
  return builder_.CreateTrunc(wide(slot), builder_.getInt32Ty());
}

std::vector<Value*> FunctionCode::split(Value* index, std::span<const Digit> digits) {
  std::vector<Value*> parts(digits.size());
  for (std::size_t i = digits.size(); i-- > 0;) {
    parts[i] = index;
    if (i == 0) break;
    const Digit& digit = digits[i];
    Value* rest = divided(builder_, index, word(digit.multiplier), word(digit.shift));
    parts[i] = builder_.CreateSub(index, builder_.CreateMul(rest, word(digit.count)));
    index = rest;
  }
  return parts;
}

Value* FunctionCode::distance(std::span<Value* const> indices, std::span<const int> strides) {
  Value* sum = builder_.getInt64(0);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Value* index = builder_.CreateZExt(indices[i], builder_.getInt64Ty());
    sum = builder_.CreateAdd(sum, builder_.CreateMul(index, wide(strides[i])));
  }
  return sum;
}

Value* FunctionCode::pointer(const FunctionPart& part, Value* distance) {
  llvm::Type* type = llvm::PointerType::get(builder_.getContext(), global_space);
  Value* base = table_entry(type, 0, part.operand);
  return builder_.CreateGEP(bits_type(builder_, part), base,
                            builder_.CreateAdd(wide(part.offset), distance));
}

Value* FunctionCode::load_bits(const FunctionPart& part, Value* pointer) {
  return builder_.CreateAlignedLoad(bits_type(builder_, part), pointer, align_of(part));
}

void FunctionCode::store_bits(const FunctionPart& part, Value* pointer, Value* bits) {
  builder_.CreateAlignedStore(bits, pointer, align_of(part));
}

Value* FunctionCode::from_bits(const FunctionPart& part, Value* bits) {
  llvm::Type* single = builder_.getFloatTy();
  switch (part.dtype) {
    case DType::f32: return builder_.CreateBitCast(bits, single);
    case DType::f16: return call(builder_, Op::FromF16, {bits});
    case DType::bf16: {
      Value* word = builder_.CreateZExt(bits, builder_.getInt32Ty());
      return builder_.CreateBitCast(builder_.CreateShl(word, 16), single);
    }
    default: return bits;
  }
}

Value* FunctionCode::to_bits(const FunctionPart& part, Value* value) {
  switch (part.dtype) {
    case DType::f16: return call(builder_, Op::ToF16, {value});
    case DType::bf16: return call(builder_, Op::ToBf16, {value});
    default: return builder_.CreateBitCast(value, bits_type(builder_, part));
  }
}

void FunctionCode::report(Value* bad) {
  codegen::Conditional where(builder_, bad, "out_of_range");
  const auto status = static_cast<std::uint32_t>(rkernel::Status::IndexOutOfRange);
  builder_.CreateAlignedStore(builder_.getInt32(status), function_->getArg(2), llvm::Align(4))
      ->setAtomic(llvm::AtomicOrdering::Monotonic);
  where.close();
}

}  // namespace dyn::ptx
