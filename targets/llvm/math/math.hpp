#pragma once
// Scalar operators as IR at any width. Every function gives the same bits at every width, and on
// every ISA with FMA.

#include <initializer_list>
#include <span>

#include "src/rkernel/expr/expr.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::codegen {

/// A function of f32 that uses approximating instructions.
struct ApproximateFunction {
  graph::ScalarOp op;
  double ulps;          ///< its largest error, for whatever results the approximations' bounds
                        ///< allow: in units in the last place of the rounded exact value
  double instructions;  ///< of the machine, without those that load constants
};

/// Approximating instructions of a machine, on one f32. Arguments and results that are subnormal
/// become zeros of their sign; NaN stays NaN.
struct Approximations {
  /// 2^x, at most 2 ulp from the rounded value; 1 for zeros, 0 and infinity for infinite x.
  llvm::Value* (*exp2)(Builder& builder, llvm::Value* x);
  /// 1 / x, at most 1 ulp from the rounded value; exact for zeros and infinities.
  llvm::Value* (*reciprocal)(Builder& builder, llvm::Value* x);
  /// Those that Math makes of them.
  std::span<const ApproximateFunction> functions = {};
};

/// Instructions that the functions may use.
struct MathOptions {
  bool fma = true;  ///< llvm.fma is one instruction; such CPUs have rounding instructions as well
  bool scalef = false;  ///< AVX-512's multiplication of 16 floats by powers of two, whatever their
                        ///< exponents; its bits are those of several steps
  bool lrint = true;    ///< llvm.lrint is one instruction
  bool extremum = false;  ///< llvm.maximum and llvm.minimum of f32 are one instruction
  const Approximations* approximations = nullptr;  ///< its functions use them
};

/// Emits operators on f32, f64, integer and i1 values, scalar or vector. NaN propagates, integers
/// wrap, integer division by zero gives 0. No function branches, or uses approximating instructions
/// that the options do not give. None calls another function, except those of f64 that no
/// instruction computes: they call libm, lane by lane.
class Math {
 public:
  Math(Builder& builder, MathOptions options) : builder_(builder), options_(options) {}

  /// `op` on arguments of its arity, all of one width. `from` is the arguments' dtype (for Select,
  /// that of the last two).
  llvm::Value* apply(rkernel::ExprOp op, DType from, DType to, llvm::Value* a,
                     llvm::Value* b = nullptr, llvm::Value* c = nullptr);

  llvm::Constant* constant(DType dtype, double number, std::int64_t integer);
  llvm::Value* cast(DType from, DType to, llvm::Value* value);
  /// The same bits, which are as many in both dtypes; neither is f16 or bf16.
  llvm::Value* bit_cast(DType from, DType to, llvm::Value* value);

  // Functions of f32; pow, floor, ceil and round take f64 too. Largest errors over the whole range,
  // with and without FMA: tests/unit/llvm/math/math_test.cpp.
  llvm::Value* exp(llvm::Value* x);
  /// The same for x <= 0 (or NaN), in fewer instructions: may be 0 where the result is no normal
  /// number.
  llvm::Value* exp_not_positive(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);
  llvm::Value* erf(llvm::Value* x);
  llvm::Value* sigmoid(llvm::Value* x);
  llvm::Value* sin(llvm::Value* x) { return sine(x, 0); }
  llvm::Value* cos(llvm::Value* x) { return sine(x, 1); }
  llvm::Value* tan(llvm::Value* x);
  llvm::Value* asin(llvm::Value* x);
  llvm::Value* acos(llvm::Value* x);
  llvm::Value* atan(llvm::Value* x);
  llvm::Value* sinh(llvm::Value* x);
  llvm::Value* cosh(llvm::Value* x);
  llvm::Value* asinh(llvm::Value* x);
  llvm::Value* acosh(llvm::Value* x);
  llvm::Value* atanh(llvm::Value* x);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);
  llvm::Value* floor(llvm::Value* x);
  llvm::Value* ceil(llvm::Value* x);
  llvm::Value* round(llvm::Value* x);  ///< to nearest, ties to even

  /// a * b + c.
  llvm::Value* fused(llvm::Value* a, llvm::Value* b, llvm::Value* c);

 private:
  llvm::Value* saturated_lanes(DType to, llvm::Value* value);
  /// round(x) + added, a whole number, as an integer of at most 16 bits.
  llvm::Value* saturated_sum(DType to, llvm::Value* x, double added);
  llvm::Value* zero_for_nan(DType to, llvm::Value* x, llvm::Value* whole);
  /// The low bits of an integer as a code of 4 or 2 bits.
  llvm::Value* integer_code(DType to, llvm::Value* value);
  /// The entry of graph/ops/scalar_ops.def for an operator.
  llvm::Value* scalar(rkernel::ExprOp op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* sqrt(llvm::Value* x);
  llvm::Value* inverse(llvm::Value* x);
  llvm::Value* relu(llvm::Value* x);
  llvm::Value* sign(llvm::Value* x);
  llvm::Value* integer_sign(DType dtype, llvm::Value* x);
  llvm::Value* of_truths(DType dtype, llvm::Instruction::BinaryOps operation, llvm::Value* a,
                         llvm::Value* b);
  /// Truncated toward zero; 0 where b is 0.
  llvm::Value* quotient(DType dtype, llvm::Value* a, llvm::Value* b);
  /// With the divisor's sign; 0 where b is 0.
  llvm::Value* remainder(DType dtype, llvm::Value* a, llvm::Value* b);
  /// b, but 1 for 0 and for -1, which overflows for the least integer.
  llvm::Value* safe_divisor(llvm::Value* b);
  llvm::Value* integer_power(bool is_unsigned, llvm::Value* base, llvm::Value* exponent);
  llvm::Value* shift(rkernel::ExprOp op, DType dtype, llvm::Value* a, llvm::Value* b);
  /// `op` on each lane of x.
  llvm::Value* lane_by_lane(llvm::Value* (*op)(Builder&, llvm::Value*), llvm::Value* x);
  /// `e` is e^-|x|.
  llvm::Value* sigmoid_of(llvm::Value* x, llvm::Value* e);
  llvm::Value* double_mod(llvm::Value* a, llvm::Value* b);
  /// A remainder of either sign, as Python gives it.
  llvm::Value* with_sign_of_divisor(llvm::Value* rest, llvm::Value* divisor);
  /// A function of the C library on doubles, lane by lane.
  llvm::Value* call(std::string_view function, std::initializer_list<llvm::Value*> arguments);
  llvm::Value* float_mod(llvm::Value* a, llvm::Value* b);
  /// NaN where either is; `greater`: the larger of the two.
  llvm::Value* extremum(bool greater, llvm::Value* a, llvm::Value* b);
  llvm::Value* integer_extremum(DType dtype, bool greater, llvm::Value* a, llvm::Value* b);
  /// `direction`: 0 nearest, -1 down, 1 up.
  llvm::Value* rounded(int direction, llvm::Value* x);
  /// x = quarter * pi / 2 + r with |r| <= pi / 4, in double, for a finite x.
  struct Circular {
    llvm::Value *sin, *cos;  ///< functions of r
    llvm::Value* quarter;    ///< an integer congruent to it modulo 2^51
  };
  Circular circular(llvm::Value* x);
  /// sin(x + quadrant * pi / 2).
  llvm::Value* sine(llvm::Value* x, int quadrant);
  /// NaN where x is infinite or no number.
  llvm::Value* where_finite(llvm::Value* x, llvm::Value* result);
  /// Takes doubles.
  llvm::Value* atan_double(llvm::Value* x);
  llvm::Value* asin_double(llvm::Value* x);
  /// Takes positive normal doubles.
  llvm::Value* log_double(llvm::Value* x);
  /// e^x and e^-x of a float, in double.
  std::pair<llvm::Value*, llvm::Value*> exp_both_signs(llvm::Value* x);
  /// `result`, except near 0, where it loses bits: there x + cube * x^3; both in double.
  llvm::Value* odd_near_zero(llvm::Value* x, double cube, llvm::Value* result);
  struct Exponential {
    llvm::Value *fraction, *exponent,
        *exponent_float;  ///< e^x = fraction * 2^exponent, fraction within [0.7, 1.5]
  };
  Exponential exp_parts(llvm::Value* x);
  /// True for f32 where the machine has approximations, which the next functions use.
  bool approximates(llvm::Value* x) const;
  llvm::Value* approximate_exp2(llvm::Value* x);
  llvm::Value* approximate_inverse(llvm::Value* x);
  /// `bounded`: x may be above 88.
  llvm::Value* approximate_exp(llvm::Value* x, bool bounded);
  llvm::Value* approximate_tanh(llvm::Value* magnitude);  ///< for |x| >= 0.55
  llvm::Value* approximate_erf(llvm::Value* magnitude);   ///< for |x| >= 1
  /// For |x| < 87, NaN gives NaN: one scaling, no special values.
  llvm::Value* exp_normal(llvm::Value* x);
  llvm::Value* tanh_of_large(llvm::Value* magnitude);  ///< for |x| >= 0.55
  llvm::Value* erf_of_large(llvm::Value* magnitude);   ///< for |x| >= 1
  llvm::Value* log2_double(llvm::Value* x);
  llvm::Value* exp2_double(llvm::Value* x);

  /// A constant of like's type.
  llvm::Value* number(llvm::Value* like, double value);
  /// An integer constant as wide as like's elements.
  llvm::Value* bits(llvm::Value* like, std::int64_t value);
  llvm::Value* as_bits(llvm::Value* x);
  llvm::Value* as_float(llvm::Value* x);
  llvm::Value* to_double(llvm::Value* x);
  llvm::Value* to_single(llvm::Value* x);
  llvm::Value* abs(llvm::Value* x);
  llvm::Value* copysign(llvm::Value* magnitude, llvm::Value* sign);
  bool has_extremum(llvm::Value* x) const;
  /// x, but no more than `limit`; NaN stays.
  llvm::Value* at_most(llvm::Value* x, double limit);
  llvm::Value* at_least(llvm::Value* x, double limit);
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> highest_first);
  struct Nearest {
    llvm::Value *value,
        *bits;  ///< the integer as a float; an integer congruent to it modulo 2^22 (2^51)
  };
  /// Without poison for any x; meaningful for |x| < 2^22 (2^51).
  Nearest nearest(llvm::Value* x);
  /// fraction * 2^n by one instruction; nullptr: there is none for it.
  llvm::Value* scaled(llvm::Value* fraction, llvm::Value* n);
  /// 2^n for n within the exponents of normal numbers.
  llvm::Value* power_of_two(llvm::Value* n, llvm::Value* like);

  Builder& builder_;
  MathOptions options_;
};

}  // namespace dyn::codegen
