// Functions of f64, which libm computes, and f32 functions whose argument reduction needs more bits
// than a float has: computed in double, rounded once.

#include <llvm/IR/Module.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

namespace {

constexpr double pi_half = 1.5707963267948966;
/// A float with such an exponent, up to the largest, is an integer times a power of two, which is
/// scaled away.
constexpr int first_scaled_exponent = 24, last_exponent = 127;
constexpr int table_rows = last_exponent - first_scaled_exponent + 2;

/// Bits [first, first + 28) after the binary point of 2 / pi, as a number of that size; first may
/// be negative.
double two_over_pi_bits(int first, int count) {
  constexpr std::uint64_t words[] = {0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041,
                                     0xfe5163abdebbc561};
  double value = 0;
  for (int bit = std::max(first, 0); bit < first + count; ++bit)
    if ((words[bit / 64] >> (63 - bit % 64) & 1) != 0) value += std::ldexp(1.0, -bit - 1);
  return value;
}

/// Row i: 2^i * 2 / pi without the multiples of 4, as three doubles of 28 bits each; the product of
/// the first two with a float is exact.
llvm::GlobalVariable* reduction_table(llvm::Module& module) {
  constexpr const char* name = "two_over_pi";
  if (llvm::GlobalVariable* known = module.getNamedGlobal(name)) return known;
  std::vector<double> entries;
  for (int row = 0; row < table_rows; ++row)
    for (int part = 0; part < 3; ++part)
      entries.push_back(std::ldexp(two_over_pi_bits(row - 2 + 28 * part, 28), row));
  llvm::Constant* data =
      llvm::ConstantDataArray::get(module.getContext(), llvm::ArrayRef<double>(entries));
  return new llvm::GlobalVariable(module, data->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                  data, name);
}

}  // namespace

Math::Circular Math::circular(llvm::Value* x) {
  // x = m * 2^row with row = 0 or m an integer; t = x * 2 / pi modulo 4.
  const int width = width_of(x);
  llvm::Value* exponent = builder_.CreateSub(
      builder_.CreateAnd(builder_.CreateLShr(as_bits(x), bits(x, 23)), bits(x, 0xff)),
      bits(x, 127 + first_scaled_exponent - 1));
  llvm::Value* row = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponent, bits(x, 0));
  row = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, bits(x, table_rows - 1));
  llvm::Value* wide = to_double(x);
  llvm::Value* row_bits = builder_.CreateSExt(row, bits(wide, 0)->getType());
  llvm::Value* m = builder_.CreateFMul(wide, power_of_two(builder_.CreateNeg(row_bits), wide));

  llvm::GlobalVariable* table = reduction_table(*builder_.GetInsertBlock()->getModule());
  llvm::Value* product[3];
  for (int part = 0; part < 3; ++part) {
    llvm::Value* entry =
        builder_.CreateAdd(builder_.CreateMul(row_bits, bits(wide, 3)), bits(wide, part));
    llvm::Value* pointer = builder_.CreateGEP(builder_.getDoubleTy(), table, entry);
    llvm::Type* type = lanes_of(builder_.getDoubleTy(), width);
    llvm::Value* factor = width == 1 ? static_cast<llvm::Value*>(builder_.CreateLoad(type, pointer))
                                     : builder_.CreateMaskedGather(type, pointer, llvm::Align(8));
    product[part] = builder_.CreateFMul(m, factor);
  }
  // Whole turns are subtracted first, so that the quadrant stays a small integer.
  llvm::Value* turns = nearest(builder_.CreateFMul(product[0], number(wide, 0.25))).value;
  llvm::Value* t = builder_.CreateFSub(product[0], builder_.CreateFMul(turns, number(wide, 4)));
  const Nearest q = nearest(builder_.CreateFAdd(t, product[1]));
  llvm::Value* fraction = builder_.CreateFAdd(builder_.CreateFSub(t, q.value), product[1]);
  fraction = builder_.CreateFAdd(fraction, product[2]);
  llvm::Value* r = builder_.CreateFMul(fraction, number(wide, pi_half));

  // Taylor, |r| <= pi / 4: errors below 2^-36.
  llvm::Value* square = builder_.CreateFMul(r, r);
  llvm::Value* sin = builder_.CreateFMul(
      r, polynomial(square, {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1}));
  llvm::Value* cos = polynomial(
      square, {1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1});
  return {sin, cos, q.bits};
}

llvm::Value* Math::where_finite(llvm::Value* x, llvm::Value* result) {
  llvm::Value* finite = builder_.CreateFCmpOLT(abs(x), number(x, __builtin_inf()));
  return builder_.CreateSelect(finite, result, number(x, __builtin_nan("")));
}

llvm::Value* Math::sine(llvm::Value* x, int quadrant) {
  const Circular of = circular(x);
  llvm::Value* at = builder_.CreateAdd(of.quarter, bits(of.sin, quadrant));
  const auto has_bit = [&](std::int64_t bit) {
    return builder_.CreateICmpNE(builder_.CreateAnd(at, bits(of.sin, bit)), bits(of.sin, 0));
  };
  llvm::Value* result = builder_.CreateSelect(has_bit(1), of.cos, of.sin);
  result = builder_.CreateSelect(has_bit(2), builder_.CreateFNeg(result), result);
  return where_finite(x, to_single(result));
}

llvm::Value* Math::tan(llvm::Value* x) {
  const Circular of = circular(x);
  llvm::Value* odd =
      builder_.CreateICmpNE(builder_.CreateAnd(of.quarter, bits(of.sin, 1)), bits(of.sin, 0));
  llvm::Value* above = builder_.CreateSelect(odd, builder_.CreateFNeg(of.cos), of.sin);
  llvm::Value* below = builder_.CreateSelect(odd, of.sin, of.cos);
  return where_finite(x, to_single(builder_.CreateFDiv(above, below)));
}

llvm::Value* Math::log2_double(llvm::Value* x) {
  // x = 2^e * m, m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
  llvm::Value* root_half = bits(x, 0x3fe6a09e667f3bcd);
  llvm::Value* distance = builder_.CreateSub(as_bits(x), root_half);
  llvm::Value* exponent = builder_.CreateAShr(distance, bits(x, 52));
  llvm::Value* m = as_float(
      builder_.CreateAdd(builder_.CreateAnd(distance, bits(x, 0xfffffffffffff)), root_half));
  llvm::Value* s = builder_.CreateFDiv(builder_.CreateFSub(m, number(x, 1)),
                                       builder_.CreateFAdd(m, number(x, 1)));
  llvm::Value* square = builder_.CreateFMul(s, s);
  llvm::Value* series = polynomial(
      square, {1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3, 1});
  constexpr double two_log2_e = 2.8853900817779268;
  llvm::Value* fraction =
      builder_.CreateFMul(builder_.CreateFMul(s, number(x, two_log2_e)), series);
  // The integer as a double through the mantissa: there is no vector conversion from i64 before
  // AVX-512.
  llvm::Value* shift = number(x, 0x1.8p52);
  llvm::Value* e =
      builder_.CreateFSub(as_float(builder_.CreateAdd(exponent, as_bits(shift))), shift);
  return builder_.CreateFAdd(e, fraction);
}

llvm::Value* Math::exp2_double(llvm::Value* x) {
  constexpr double ln2 = 0.69314718055994531;
  const Nearest n = nearest(x);
  llvm::Value* r = builder_.CreateFMul(builder_.CreateFSub(x, n.value), number(x, ln2));
  llvm::Value* p = polynomial(r, {1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                  1.0 / 24, 1.0 / 6, 0.5, 1, 1});
  return builder_.CreateFMul(p, power_of_two(n.bits, x));
}

llvm::Value* Math::call(std::string_view function, std::initializer_list<llvm::Value*> arguments) {
  llvm::Module& module = *builder_.GetInsertBlock()->getModule();
  const std::vector<llvm::Type*> types(arguments.size(), builder_.getDoubleTy());
  llvm::FunctionCallee callee = module.getOrInsertFunction(
      function, llvm::FunctionType::get(builder_.getDoubleTy(), types, false));
  llvm::cast<llvm::Function>(callee.getCallee())->setDoesNotThrow();
  llvm::Value* first = *arguments.begin();
  const int width = width_of(first);
  if (width == 1) return builder_.CreateCall(callee, std::vector<llvm::Value*>(arguments));
  llvm::Value* result = llvm::PoisonValue::get(first->getType());
  for (int lane = 0; lane < width; ++lane) {
    std::vector<llvm::Value*> elements;
    for (llvm::Value* argument : arguments)
      elements.push_back(builder_.CreateExtractElement(argument, static_cast<std::uint64_t>(lane)));
    result = builder_.CreateInsertElement(result, builder_.CreateCall(callee, elements),
                                          static_cast<std::uint64_t>(lane));
  }
  return result;
}

llvm::Value* Math::double_mod(llvm::Value* a, llvm::Value* b) {
  return with_sign_of_divisor(call("fmod", {a, b}), b);
}

llvm::Value* Math::with_sign_of_divisor(llvm::Value* rest, llvm::Value* divisor) {
  llvm::Value* zero = number(divisor, 0);
  llvm::Value* has_other_sign =
      builder_.CreateICmpSLT(builder_.CreateXor(as_bits(rest), as_bits(divisor)), bits(divisor, 0));
  llvm::Value* moved =
      builder_.CreateSelect(has_other_sign, builder_.CreateFAdd(rest, divisor), rest);
  return builder_.CreateSelect(builder_.CreateFCmpOEQ(rest, zero), copysign(zero, divisor), moved);
}

llvm::Value* Math::pow(llvm::Value* x, llvm::Value* y) {
  if (x->getType()->getScalarType()->isDoubleTy()) return call("pow", {x, y});
  llvm::Value* zero = number(x, 0);
  llvm::Value* infinity = number(x, __builtin_inf());
  llvm::Value* magnitude = abs(x);
  llvm::Value* logarithm = log2_double(to_double(magnitude));
  llvm::Value* is_zero = builder_.CreateFCmpOEQ(magnitude, zero);
  llvm::Value* is_finite = builder_.CreateFCmpOLT(magnitude, infinity);
  llvm::Value* edge =
      builder_.CreateSelect(is_zero, number(logarithm, -__builtin_inf()), to_double(magnitude));
  logarithm = builder_.CreateSelect(builder_.CreateAnd(is_finite, builder_.CreateNot(is_zero)),
                                    logarithm, edge);
  llvm::Value* power = builder_.CreateFMul(to_double(y), logarithm);
  // Far outside f32's exponents, within double's.
  llvm::Value* result = to_single(exp2_double(at_least(at_most(power, 200), -200)));

  llvm::Value* half = builder_.CreateFMul(y, number(y, 0.5));
  llvm::Value* integral = builder_.CreateFCmpOEQ(floor(y), y);
  llvm::Value* odd = builder_.CreateAnd(integral, builder_.CreateFCmpUNE(floor(half), half));
  result = builder_.CreateSelect(odd, copysign(result, x), result);
  llvm::Value* negative = builder_.CreateFCmpOLT(x, zero);
  llvm::Value* undefined =
      builder_.CreateAnd(builder_.CreateAnd(negative, is_finite), builder_.CreateNot(integral));
  result = builder_.CreateSelect(undefined, number(x, __builtin_nan("")), result);

  llvm::Value* one = number(x, 1);
  llvm::Value* minus_one_to_infinity = builder_.CreateAnd(builder_.CreateFCmpOEQ(magnitude, one),
                                                          builder_.CreateFCmpOEQ(abs(y), infinity));
  llvm::Value* is_one =
      builder_.CreateOr(builder_.CreateFCmpOEQ(x, one), builder_.CreateFCmpOEQ(y, zero));
  return builder_.CreateSelect(builder_.CreateOr(is_one, minus_one_to_infinity), one, result);
}

llvm::Value* Math::float_mod(llvm::Value* a, llvm::Value* b) {
  if (a->getType()->getScalarType()->isDoubleTy()) return double_mod(a, b);
  llvm::Value* rest = to_double(a);
  llvm::Value* divisor = to_double(b);
  // Quotients reach 2^277; each step subtracts 28 bits of one, so that its product with b is exact.
  for (int bits_left = 252; bits_left >= 0; bits_left -= 28) {
    llvm::Value* step = builder_.CreateFMul(divisor, number(divisor, std::ldexp(1.0, bits_left)));
    llvm::Value* quotient = nearest(builder_.CreateFDiv(rest, step)).value;
    rest = builder_.CreateFSub(rest, builder_.CreateFMul(quotient, step));
  }
  llvm::Value* infinity = number(b, __builtin_inf());
  llvm::Value* infinite = builder_.CreateAnd(builder_.CreateFCmpOEQ(abs(b), infinity),
                                             builder_.CreateFCmpOLT(abs(a), infinity));
  rest = builder_.CreateSelect(infinite, to_double(a), rest);
  return to_single(with_sign_of_divisor(rest, divisor));
}

}  // namespace dyn::codegen
