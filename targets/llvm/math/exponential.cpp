// exp and functions made of it. Coefficients: minimax (Remez) fits of the relative error of the
// whole function; the errors of the fits are below 2^-28.

#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

namespace {

constexpr double log2_e = 1.4426950408889634;
// ln 2 = high + low, high with so few bits that its product with an exponent is exact.
constexpr double ln2_high = 0x1.62e4p-1, ln2_low = 1.4286068203094173e-6;

}  // namespace

Math::Exponential Math::exp_parts(llvm::Value* x) {
  const Nearest n = nearest(builder_.CreateFMul(x, number(x, log2_e)));
  llvm::Value* r = fused(n.value, number(x, -ln2_high), x);
  r = fused(n.value, number(x, -ln2_low), r);
  llvm::Value* p = polynomial(
      r, {0.00138144712302, 0.0083687806896, 0.0416683941486, 0.166665201048, 0.499999934127});
  return {builder_.CreateFAdd(fused(builder_.CreateFMul(r, r), p, r), number(x, 1)), n.bits,
          n.value};
}

llvm::Value* Math::exp_normal(llvm::Value* x) {
  const Exponential parts = exp_parts(x);
  if (llvm::Value* result = scaled(parts.fraction, parts.exponent_float)) return result;
  return builder_.CreateFMul(parts.fraction, power_of_two(parts.exponent, x));
}

llvm::Value* Math::exp(llvm::Value* x) {
  if (approximates(x)) return approximate_exp(x, true);
  // Beyond these bounds the result is infinite, or rounds to 0.
  const Exponential parts = exp_parts(at_least(at_most(x, 89), -104));
  if (llvm::Value* result = scaled(parts.fraction, parts.exponent_float)) return result;
  // 2^n in two factors, each a normal number: only the last product rounds.
  llvm::Value* half = builder_.CreateAShr(parts.exponent, bits(x, 1));
  llvm::Value* rest = builder_.CreateSub(parts.exponent, half);
  llvm::Value* result = builder_.CreateFMul(parts.fraction, power_of_two(half, x));
  return builder_.CreateFMul(result, power_of_two(rest, x));
}

llvm::Value* Math::exp_not_positive(llvm::Value* x) {
  if (approximates(x)) return approximate_exp(x, false);
  constexpr double least = -87.3;  // e^least is nearly the last normal number
  llvm::Value* result = exp_normal(at_least(x, least));
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(x, least)), number(x, 0), result);
}

llvm::Value* Math::log(llvm::Value* x) {
  // x = 2^e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); subnormal x are scaled up first.
  llvm::Value* subnormal = builder_.CreateFCmpOLT(x, number(x, 0x1p-126));
  llvm::Value* scaled =
      builder_.CreateSelect(subnormal, builder_.CreateFMul(x, number(x, 0x1p23)), x);
  llvm::Value* root_half = bits(x, 0x3f3504f3);
  llvm::Value* distance = builder_.CreateSub(as_bits(scaled), root_half);
  llvm::Value* exponent = builder_.CreateAShr(distance, bits(x, 23));
  llvm::Value* mantissa =
      builder_.CreateAdd(builder_.CreateAnd(distance, bits(x, 0x7fffff)), root_half);
  llvm::Value* f = builder_.CreateFSub(as_float(mantissa), number(x, 1));
  llvm::Value* e = builder_.CreateSIToFP(exponent, x->getType());
  e = builder_.CreateFSub(e, builder_.CreateSelect(subnormal, number(x, 23), number(x, 0)));

  llvm::Value* p = polynomial(
      f, {0.0674663755625, -0.116756507021, 0.118881628854, -0.124055896002, 0.142195525372,
          -0.166679957799, 0.200021186275, -0.250000096016, 0.333333126053});
  llvm::Value* square = builder_.CreateFMul(f, f);
  llvm::Value* tail = builder_.CreateFMul(builder_.CreateFMul(square, f), p);
  tail = fused(e, number(x, ln2_low), tail);
  tail = fused(square, number(x, -0.5), tail);
  llvm::Value* result = fused(e, number(x, ln2_high), builder_.CreateFAdd(f, tail));

  // inf and NaN stay; 0 gives -inf, negative numbers NaN.
  llvm::Value* finite = builder_.CreateFCmpOLT(x, number(x, __builtin_inf()));
  result = builder_.CreateSelect(finite, result, x);
  result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(x, 0)),
                                 number(x, __builtin_nan("")), result);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(x, number(x, 0)), number(x, -__builtin_inf()),
                               result);
}

llvm::Value* Math::sigmoid(llvm::Value* x) {
  // Both sides from e^-|x|, which cannot overflow.
  llvm::Value* exponent = builder_.CreateFNeg(abs(x));
  if (approximates(x)) return sigmoid_of(x, approximate_exp(exponent, false));
  return sigmoid_of(
      x, x->getType()->getScalarType()->isDoubleTy() ? call("exp", {exponent}) : exp(exponent));
}

llvm::Value* Math::sigmoid_of(llvm::Value* x, llvm::Value* e) {
  llvm::Value* numerator =
      builder_.CreateSelect(builder_.CreateFCmpOGE(x, number(x, 0)), number(x, 1), e);
  llvm::Value* denominator = builder_.CreateFAdd(e, number(x, 1));
  return approximates(x) ? builder_.CreateFMul(numerator, approximate_inverse(denominator))
                         : builder_.CreateFDiv(numerator, denominator);
}

llvm::Value* Math::tanh(llvm::Value* x) {
  llvm::Value* magnitude = abs(x);
  llvm::Value* square = builder_.CreateFMul(x, x);
  llvm::Value* p = polynomial(square, {-0.00627423771422, 0.0210716778521, -0.0538523096373,
                                       0.133325861359, -0.333333175596});
  llvm::Value* small = fused(builder_.CreateFMul(p, square), x, x);
  llvm::Value* large =
      copysign(approximates(x) ? approximate_tanh(magnitude) : tanh_of_large(magnitude), x);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, number(x, 0.55)), small, large);
}

llvm::Value* Math::tanh_of_large(llvm::Value* magnitude) {
  // 1 - 2 / (e^2|x| + 1), which is 1 from |x| = 9.02 on.
  llvm::Value* bounded = at_most(magnitude, 9.5);
  llvm::Value* e = exp_normal(builder_.CreateFAdd(bounded, bounded));
  llvm::Value* rest = builder_.CreateFDiv(number(e, 2), builder_.CreateFAdd(e, number(e, 1)));
  return builder_.CreateFSub(number(e, 1), rest);
}

llvm::Value* Math::erf(llvm::Value* x) {
  llvm::Value* magnitude = abs(x);
  llvm::Value* square = builder_.CreateFMul(x, x);
  llvm::Value* p =
      polynomial(square, {7.85385721171e-5, -0.000801019253692, 0.00518832758764, -0.0268538119041,
                          0.112835851487, -0.376126258243, 0.128379165727});
  llvm::Value* small = fused(p, x, x);
  llvm::Value* large =
      copysign(approximates(x) ? approximate_erf(magnitude) : erf_of_large(magnitude), x);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, number(x, 1)), small, large);
}

llvm::Value* Math::erf_of_large(llvm::Value* magnitude) {
  // 1 - e^(q(t) - t) with q a polynomial without constant term; 1 from t = 3.92 on.
  llvm::Value* t = at_most(magnitude, 3.95);
  llvm::Value* q =
      polynomial(t, {-1.12313107659e-5, 0.000322803790307, -0.00364245831213, 0.0237620605247,
                     -0.106236873949, -0.635151319142, -0.128648489471});
  llvm::Value* e = exp_normal(fused(q, t, builder_.CreateFNeg(t)));
  return builder_.CreateFSub(number(t, 1), e);
}

}  // namespace dyn::codegen
