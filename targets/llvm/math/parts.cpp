// Building blocks of Math's functions.

#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>

#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

namespace {

bool is_double(llvm::Value* x) { return x->getType()->getScalarType()->isDoubleTy(); }

/// Adding 1.5 * 2^(mantissa bits) leaves the nearest integer in the low mantissa bits.
double integer_shift(llvm::Value* x) { return is_double(x) ? 0x1.8p52 : 0x1.8p23; }

}  // namespace

llvm::Value* Math::number(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Value* Math::bits(llvm::Value* like, std::int64_t value) {
  llvm::Type* element = builder_.getIntNTy(like->getType()->getScalarSizeInBits());
  return llvm::ConstantInt::getSigned(lanes_of(element, width_of(like)), value);
}

llvm::Value* Math::as_bits(llvm::Value* x) {
  return builder_.CreateBitCast(x, bits(x, 0)->getType());
}

llvm::Value* Math::as_float(llvm::Value* x) {
  llvm::Type* element =
      x->getType()->getScalarSizeInBits() == 64 ? builder_.getDoubleTy() : builder_.getFloatTy();
  return builder_.CreateBitCast(x, lanes_of(element, width_of(x)));
}

llvm::Value* Math::to_double(llvm::Value* x) {
  return builder_.CreateFPExt(x, lanes_of(builder_.getDoubleTy(), width_of(x)));
}

llvm::Value* Math::to_single(llvm::Value* x) {
  return builder_.CreateFPTrunc(x, lanes_of(builder_.getFloatTy(), width_of(x)));
}

llvm::Value* Math::abs(llvm::Value* x) {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
}

llvm::Value* Math::copysign(llvm::Value* magnitude, llvm::Value* sign) {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

bool Math::has_extremum(llvm::Value* x) const {
  return options_.extremum && x->getType()->getScalarType()->isFloatTy();
}

llvm::Value* Math::at_most(llvm::Value* x, double limit) {
  llvm::Value* bound = number(x, limit);
  if (has_extremum(x)) return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, bound);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(bound, x), bound, x);
}

llvm::Value* Math::at_least(llvm::Value* x, double limit) {
  llvm::Value* bound = number(x, limit);
  if (has_extremum(x)) return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, bound);
  return builder_.CreateSelect(builder_.CreateFCmpOGT(bound, x), bound, x);
}

llvm::Value* Math::fused(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  return multiply_add(builder_, options_.fma, a, b, c);
}

llvm::Value* Math::polynomial(llvm::Value* x, std::initializer_list<double> highest_first) {
  llvm::Value* sum = nullptr;
  for (const double coefficient : highest_first)
    sum = sum == nullptr ? number(x, coefficient) : fused(sum, x, number(x, coefficient));
  return sum;
}

Math::Nearest Math::nearest(llvm::Value* x) {
  llvm::Value* shift = number(x, integer_shift(x));
  llvm::Value* shifted = builder_.CreateFAdd(x, shift);
  return {builder_.CreateFSub(shifted, shift),
          builder_.CreateSub(as_bits(shifted), as_bits(shift))};
}

llvm::Value* Math::scaled(llvm::Value* fraction, llvm::Value* n) {
  constexpr int lanes = 16, rounding_of_mxcsr = 4;
  if (!options_.scalef || width_of(fraction) != lanes || is_double(fraction)) return nullptr;
  return builder_.CreateIntrinsic(
      llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
      {fraction, n, fraction, builder_.getInt16(0xffff), builder_.getInt32(rounding_of_mxcsr)});
}

llvm::Value* Math::power_of_two(llvm::Value* n, llvm::Value* like) {
  const int mantissa = is_double(like) ? 52 : 23;
  const int bias = is_double(like) ? 1023 : 127;
  return as_float(
      builder_.CreateShl(builder_.CreateAdd(n, bits(like, bias)), bits(like, mantissa)));
}

llvm::Value* Math::rounded(int direction, llvm::Value* x) {
  if (options_.fma) {
    constexpr llvm::Intrinsic::ID intrinsics[] = {
        llvm::Intrinsic::floor, llvm::Intrinsic::roundeven, llvm::Intrinsic::ceil};
    return builder_.CreateUnaryIntrinsic(intrinsics[direction + 1], x);
  }
  llvm::Value* magnitude = abs(x);
  llvm::Value* shift = number(x, is_double(x) ? 0x1p52 : 0x1p23);
  llvm::Value* result = builder_.CreateFSub(builder_.CreateFAdd(magnitude, shift), shift);
  result = copysign(result, x);
  if (direction != 0) {
    llvm::Value* overshot =
        direction < 0 ? builder_.CreateFCmpOGT(result, x) : builder_.CreateFCmpOLT(result, x);
    llvm::Value* stepped = builder_.CreateFAdd(result, number(x, direction));
    result = copysign(builder_.CreateSelect(overshot, stepped, result), x);
  }
  return builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, shift), result, x);
}

llvm::Value* Math::floor(llvm::Value* x) { return rounded(-1, x); }
llvm::Value* Math::ceil(llvm::Value* x) { return rounded(1, x); }
llvm::Value* Math::round(llvm::Value* x) { return rounded(0, x); }

}  // namespace dyn::codegen
