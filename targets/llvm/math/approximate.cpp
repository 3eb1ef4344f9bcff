// exp and functions made of it, by a machine's approximations of 2^x and 1 / x. 2^x is asked where
// a rounded argument costs the result little: near 0, or where the result hardly counts.

#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

namespace {

// log2 e = high + low, high a float.
constexpr double log2_e_high = 0x1.715476p0, log2_e_low = 1.92596298909e-8;

}  // namespace

bool Math::approximates(llvm::Value* x) const {
  return options_.approximations != nullptr && x->getType()->getScalarType()->isFloatTy();
}

llvm::Value* Math::lane_by_lane(llvm::Value* (*op)(Builder&, llvm::Value*), llvm::Value* x) {
  const int width = width_of(x);
  if (width == 1) return op(builder_, x);
  llvm::Value* results = llvm::PoisonValue::get(x->getType());
  for (int lane = 0; lane < width; ++lane) {
    const auto place = static_cast<std::uint64_t>(lane);
    results = builder_.CreateInsertElement(
        results, op(builder_, builder_.CreateExtractElement(x, place)), place);
  }
  return results;
}

llvm::Value* Math::approximate_exp2(llvm::Value* x) {
  return lane_by_lane(options_.approximations->exp2, x);
}

llvm::Value* Math::approximate_inverse(llvm::Value* x) {
  return lane_by_lane(options_.approximations->reciprocal, x);
}

llvm::Value* Math::approximate_exp(llvm::Value* x, bool bounded) {
  // e^x = 2^f * 2^n. The low bits of n + shift are the exponent of 2^n: n is the nearest integer to
  // x * log2 e for which 2^n is a normal number, and f takes what lies beyond, so that 2^f becomes
  // infinite or 0, or the last product subnormal.
  constexpr double shift = 0x1.8p23 + 127, least = -126, most = 127;
  llvm::Value* shifted =
      at_least(fused(x, number(x, log2_e_high), number(x, shift)), shift + least);
  if (bounded) shifted = at_most(shifted, shift + most);
  llvm::Value* minus_n = builder_.CreateFSub(number(x, shift), shifted);
  llvm::Value* f = fused(x, number(x, log2_e_low), fused(x, number(x, log2_e_high), minus_n));
  llvm::Value* power = as_float(builder_.CreateShl(as_bits(shifted), bits(x, 23)));
  return builder_.CreateFMul(approximate_exp2(f), power);
}

llvm::Value* Math::approximate_tanh(llvm::Value* magnitude) {
  // 1 - 2 / (2^(2 * |x| * log2 e) + 1)
  llvm::Value* e =
      approximate_exp2(builder_.CreateFMul(magnitude, number(magnitude, 2 * log2_e_high)));
  llvm::Value* inverse = approximate_inverse(builder_.CreateFAdd(e, number(magnitude, 1)));
  return fused(inverse, number(magnitude, -2), number(magnitude, 1));
}

llvm::Value* Math::approximate_erf(llvm::Value* magnitude) {
  // 1 - 2^(q(t) * t), q that of erf times log2 e; 1 from t = 3.92 on.
  llvm::Value* t = at_most(magnitude, 3.95);
  llvm::Value* q =
      polynomial(t, {-1.62033563446e-5, 0.000465707427456, -0.00525495654355, 0.0342814068803,
                     -0.153267411206, -0.91632965834, -1.62829557867});
  return builder_.CreateFSub(number(t, 1), approximate_exp2(builder_.CreateFMul(q, t)));
}

}  // namespace dyn::codegen
