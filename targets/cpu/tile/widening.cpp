#include "targets/cpu/tile/widening.hpp"

#include <bit>

#include "targets/llvm/math/half.hpp"

namespace dyn::cpu {
namespace {

llvm::Type* element_type(codegen::Builder& builder, DType dtype) {
  switch (dtype) {
    case DType::f16: return builder.getHalfTy();
    case DType::i8: return builder.getInt8Ty();
    default: return codegen::memory_type(builder.getContext(), dtype);
  }
}

}  // namespace

llvm::Value* load_widened(codegen::Builder& builder, DType dtype, llvm::Value* address, int width,
                          llvm::Value* mask) {
  llvm::Type* stored = codegen::lanes_of(element_type(builder, dtype), width);
  llvm::Type* wide = codegen::lanes_of(builder.getFloatTy(), width);
  const llvm::Align alignment(size_of(dtype));
  llvm::Value* value = nullptr;
  if (mask == nullptr)
    value = builder.CreateAlignedLoad(stored, address, alignment);
  else
    value = builder.CreateMaskedLoad(stored, address, alignment, mask,
                                     llvm::Constant::getNullValue(stored));
  switch (dtype) {
    case DType::bf16: return codegen::half_to_float(builder, dtype, value);
    case DType::f16: return builder.CreateFPExt(value, wide);
    case DType::i8:
      return builder.CreateSIToFP(
          builder.CreateSExt(value, codegen::lanes_of(builder.getInt32Ty(), width)), wide);
    default: return value;
  }
}

llvm::Value* element_of(codegen::Builder& builder, DType dtype, llvm::Value* base,
                        llvm::Value* index) {
  return builder.CreateGEP(element_type(builder, dtype), base, index);
}

llvm::Value* bytes_of(codegen::Builder& builder, DType dtype, llvm::Value* elements) {
  return builder.CreateShl(elements, std::bit_width(size_of(dtype)) - 1);
}

llvm::Value* element_of(codegen::Builder& builder, const rkernel::Factors& factors,
                        llvm::Value* base, llvm::Value* index) {
  if (!factors.coded()) return element_of(builder, factors.step_dtype(), base, index);
  return builder.CreateGEP(builder.getInt8Ty(), base, bytes_of(builder, factors, index));
}

llvm::Value* bytes_of(codegen::Builder& builder, const rkernel::Factors& factors,
                      llvm::Value* elements) {
  if (!factors.coded()) return bytes_of(builder, factors.step_dtype(), elements);
  const auto number = [&](std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  };
  llvm::Value* blocks = builder.CreateUDiv(elements, number(factors.block_steps()));
  return builder.CreateMul(blocks, number(factors.coding.block_bytes()));
}

}  // namespace dyn::cpu
