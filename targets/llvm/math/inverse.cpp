// Hyperbolic functions, and the inverses of these and of the circular ones, for f32: computed in
// double, rounded once.

#include <numbers>

#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

namespace {

/// Below this argument the first two terms of a series are exact enough: the next is below 2^-50 of
/// the first.
constexpr double near_zero = 1e-4;

}  // namespace

llvm::Value* Math::odd_near_zero(llvm::Value* x, double cube, llvm::Value* result) {
  llvm::Value* square = builder_.CreateFMul(x, x);
  llvm::Value* series = builder_.CreateFMul(x, polynomial(square, {cube, 1}));
  return builder_.CreateSelect(builder_.CreateFCmpOLT(abs(x), number(x, near_zero)), series,
                               result);
}

std::pair<llvm::Value*, llvm::Value*> Math::exp_both_signs(llvm::Value* x) {
  // Far outside f32's exponents, within double's.
  constexpr double most = 200;
  llvm::Value* bounded = builder_.CreateFMul(at_least(at_most(to_double(x), most), -most),
                                             number(to_double(x), std::numbers::log2e));
  return {exp2_double(bounded), exp2_double(builder_.CreateFNeg(bounded))};
}

llvm::Value* Math::sinh(llvm::Value* x) {
  const auto [up, down] = exp_both_signs(x);
  llvm::Value* half = builder_.CreateFMul(builder_.CreateFSub(up, down), number(up, 0.5));
  return to_single(odd_near_zero(to_double(x), 1.0 / 6, half));
}

llvm::Value* Math::cosh(llvm::Value* x) {
  const auto [up, down] = exp_both_signs(x);
  return to_single(builder_.CreateFMul(builder_.CreateFAdd(up, down), number(up, 0.5)));
}

llvm::Value* Math::atan_double(llvm::Value* x) {
  // Rotated by 0, pi / 4 or pi / 2, so that u stays within tan(pi / 8).
  constexpr double tan_pi_8 = 0.41421356237309503, tan_3_pi_8 = 2.4142135623730949;
  llvm::Value* t = abs(x);
  llvm::Value *one = number(x, 1), *zero = number(x, 0);
  llvm::Value* beyond = builder_.CreateFCmpOGT(t, number(x, tan_pi_8));
  llvm::Value* far = builder_.CreateFCmpOGT(t, number(x, tan_3_pi_8));
  const auto by_part = [&](llvm::Value* near, llvm::Value* middle, llvm::Value* end) {
    return builder_.CreateSelect(far, end, builder_.CreateSelect(beyond, middle, near));
  };
  llvm::Value* above = by_part(t, builder_.CreateFSub(t, one), number(x, -1));
  llvm::Value* below = by_part(one, builder_.CreateFAdd(t, one), t);
  llvm::Value* turn =
      by_part(zero, number(x, std::numbers::pi / 4), number(x, std::numbers::pi / 2));
  llvm::Value* u = builder_.CreateFDiv(above, below);
  // Taylor: errors below 2^-37 of u.
  llvm::Value* series = polynomial(builder_.CreateFMul(u, u),
                                   {1.0 / 25, -1.0 / 23, 1.0 / 21, -1.0 / 19, 1.0 / 17, -1.0 / 15,
                                    1.0 / 13, -1.0 / 11, 1.0 / 9, -1.0 / 7, 1.0 / 5, -1.0 / 3, 1});
  return copysign(builder_.CreateFAdd(turn, builder_.CreateFMul(u, series)), x);
}

llvm::Value* Math::atan(llvm::Value* x) { return to_single(atan_double(to_double(x))); }

llvm::Value* Math::asin_double(llvm::Value* x) {
  llvm::Value* one = number(x, 1);
  llvm::Value* rest = builder_.CreateFMul(builder_.CreateFSub(one, x), builder_.CreateFAdd(one, x));
  return atan_double(
      builder_.CreateFDiv(x, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, rest)));
}

llvm::Value* Math::asin(llvm::Value* x) { return to_single(asin_double(to_double(x))); }

llvm::Value* Math::acos(llvm::Value* x) {
  llvm::Value* sine = asin_double(to_double(x));
  return to_single(builder_.CreateFSub(number(sine, std::numbers::pi / 2), sine));
}

llvm::Value* Math::log_double(llvm::Value* x) {
  return builder_.CreateFMul(log2_double(x), number(x, std::numbers::ln2));
}

llvm::Value* Math::asinh(llvm::Value* x) {
  llvm::Value* wide = to_double(x);
  llvm::Value* root = builder_.CreateUnaryIntrinsic(
      llvm::Intrinsic::sqrt, builder_.CreateFAdd(builder_.CreateFMul(wide, wide), number(wide, 1)));
  llvm::Value* logarithm = copysign(log_double(builder_.CreateFAdd(abs(wide), root)), wide);
  llvm::Value* result = to_single(odd_near_zero(wide, -1.0 / 6, logarithm));
  return builder_.CreateSelect(builder_.CreateFCmpOLT(abs(x), number(x, __builtin_inf())), result,
                               x);
}

llvm::Value* Math::acosh(llvm::Value* x) {
  llvm::Value* wide = to_double(x);
  llvm::Value* one = number(wide, 1);
  llvm::Value* square =
      builder_.CreateFMul(builder_.CreateFSub(wide, one), builder_.CreateFAdd(wide, one));
  llvm::Value* logarithm = to_single(log_double(
      builder_.CreateFAdd(wide, builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square))));
  llvm::Value* result = builder_.CreateSelect(builder_.CreateFCmpOGE(x, number(x, 1)), logarithm,
                                              number(x, __builtin_nan("")));
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(x, number(x, __builtin_inf())), x, result);
}

llvm::Value* Math::atanh(llvm::Value* x) {
  llvm::Value* wide = to_double(x);
  llvm::Value* one = number(wide, 1);
  llvm::Value* logarithm = log_double(
      builder_.CreateFDiv(builder_.CreateFAdd(one, wide), builder_.CreateFSub(one, wide)));
  llvm::Value* result =
      to_single(odd_near_zero(wide, 1.0 / 3, builder_.CreateFMul(logarithm, number(wide, 0.5))));
  llvm::Value* magnitude = abs(x);
  llvm::Value* end =
      builder_.CreateSelect(builder_.CreateFCmpOEQ(magnitude, number(x, 1)),
                            copysign(number(x, __builtin_inf()), x), number(x, __builtin_nan("")));
  return builder_.CreateSelect(builder_.CreateFCmpOLT(magnitude, number(x, 1)), result, end);
}

}  // namespace dyn::codegen
