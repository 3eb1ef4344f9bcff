#include "targets/llvm/code/types.hpp"

#include <algorithm>
#include <string>

#include "dyn/error.hpp"

namespace dyn::codegen {

llvm::Type* register_type(llvm::LLVMContext& context, DType dtype) {
  switch (dtype) {
    case DType::f32: return llvm::Type::getFloatTy(context);
    case DType::f64: return llvm::Type::getDoubleTy(context);
    case DType::i8:
    case DType::u8:
    case DType::f8e4m3fn:
    case DType::f8e4m3fnuz:
    case DType::f8e5m2:
    case DType::f8e5m2fnuz:
    case DType::f8e8m0:
    case DType::f4e2m1:
    case DType::i4:
    case DType::u4:
    case DType::i2:
    case DType::u2: return llvm::Type::getInt8Ty(context);
    case DType::i16:
    case DType::u16: return llvm::Type::getInt16Ty(context);
    case DType::i32:
    case DType::u32: return llvm::Type::getInt32Ty(context);
    case DType::i64:
    case DType::u64: return llvm::Type::getInt64Ty(context);
    case DType::boolean: return llvm::Type::getInt1Ty(context);
    case DType::f16:
    case DType::bf16: break;
  }
  throw Error(ErrorKind::unsupported, "no code can be generated for " +
                                          std::string(name_of(dtype)) +
                                          " values; cast to f32 in the model");
}

llvm::Type* memory_type(llvm::LLVMContext& context, DType dtype) {
  if (dtype == DType::f16 || dtype == DType::bf16) return llvm::Type::getInt16Ty(context);
  return dtype == DType::boolean ? llvm::Type::getInt8Ty(context) : register_type(context, dtype);
}

llvm::Type* lanes_of(llvm::Type* element, int width) {
  return width == 1 ? element : llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
}

int width_of(llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Value* broadcast(Builder& builder, llvm::Value* value, int width) {
  if (width == 1 || value->getType()->isVectorTy()) return value;
  return builder.CreateVectorSplat(static_cast<unsigned>(width), value);
}

llvm::Value* iota(Builder&, llvm::Type* element, int width) {
  if (width == 1) return llvm::ConstantInt::get(element, 0);
  std::vector<llvm::Constant*> lanes;
  for (int lane = 0; lane < width; ++lane)
    lanes.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(lane)));
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* any_lane(Builder& builder, llvm::Value* mask) {
  const int width = width_of(mask);
  if (width == 1) return mask;
  llvm::Type* bits = builder.getIntNTy(static_cast<unsigned>(width));
  return builder.CreateICmpNE(builder.CreateBitCast(mask, bits), llvm::ConstantInt::get(bits, 0));
}

llvm::Value* both(Builder& builder, llvm::Value* a, llvm::Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const int width = std::max(width_of(a), width_of(b));
  return builder.CreateAnd(broadcast(builder, a, width), broadcast(builder, b, width));
}

llvm::Value* multiply_add(Builder& builder, bool fma, llvm::Value* a, llvm::Value* b,
                          llvm::Value* c) {
  if (fma) return builder.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
  return builder.CreateFAdd(builder.CreateFMul(a, b), c);
}

void prefetch(Builder& builder, llvm::Value* pointer, CacheLevel to) {
  constexpr std::uint32_t read = 0, data = 1;
  const std::uint32_t keep = to == CacheLevel::First ? 3 : 2;
  builder.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {pointer->getType()},
      {pointer, builder.getInt32(read), builder.getInt32(keep), builder.getInt32(data)});
}

}  // namespace dyn::codegen
