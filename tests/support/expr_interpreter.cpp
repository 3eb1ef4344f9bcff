#include "tests/support/expr_interpreter.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "dyn/error.hpp"
#include "targets/reference/scalar.hpp"
#include "tests/support/half.hpp"

namespace dyn::testing {
namespace {

using rkernel::Expr;
using rkernel::ExprOp;
namespace scalar = reference::scalar;

double float_unary(ExprOp op, double x) {
  switch (op) {
    case ExprOp::Neg: return -x;
    case ExprOp::Abs: return std::fabs(x);
    case ExprOp::Exp: return std::exp(x);
    case ExprOp::Log: return std::log(x);
    case ExprOp::Sqrt: return std::sqrt(x);
    case ExprOp::Rsqrt: return 1 / std::sqrt(x);
    case ExprOp::Reciprocal: return 1 / x;
    case ExprOp::Tanh: return std::tanh(x);
    case ExprOp::Erf: return std::erf(x);
    case ExprOp::Sigmoid: return scalar::sigmoid(x);
    case ExprOp::Floor: return std::floor(x);
    case ExprOp::Ceil: return std::ceil(x);
    case ExprOp::Round: return scalar::round_half_even(x);
    case ExprOp::Sin: return std::sin(x);
    case ExprOp::Cos: return std::cos(x);
    case ExprOp::Tan: return std::tan(x);
    case ExprOp::Asin: return std::asin(x);
    case ExprOp::Acos: return std::acos(x);
    case ExprOp::Atan: return std::atan(x);
    case ExprOp::Sinh: return std::sinh(x);
    case ExprOp::Cosh: return std::cosh(x);
    case ExprOp::Asinh: return std::asinh(x);
    case ExprOp::Acosh: return std::acosh(x);
    case ExprOp::Atanh: return std::atanh(x);
    case ExprOp::Relu: return scalar::maximum(x, 0);
    case ExprOp::RoundF16: return half_value(DType::f16, half_bits(DType::f16, x));
    case ExprOp::RoundBf16: return half_value(DType::bf16, half_bits(DType::bf16, x));
    case ExprOp::Sign: return std::isnan(x) ? x : double((x > 0) - (x < 0));
    default: throw Error(ErrorKind::internal, "no float " + std::string(name_of(op)));
  }
}

std::int64_t negate(std::int64_t x) { return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x)); }

std::int64_t integer_unary(ExprOp op, DType dtype, std::int64_t x) {
  const bool is_negative = scalar::less(dtype, x, 0);
  switch (op) {
    case ExprOp::Neg: return negate(x);
    case ExprOp::Abs: return is_negative ? negate(x) : x;
    case ExprOp::Relu: return is_negative ? 0 : x;
    case ExprOp::Sign: return is_negative ? -1 : x != 0;
    case ExprOp::BitNot: return ~x;
    case ExprOp::Not: return x == 0;
    default: throw Error(ErrorKind::internal, "no integer " + std::string(name_of(op)));
  }
}

double float_binary(ExprOp op, double a, double b) {
  switch (op) {
    case ExprOp::Add: return a + b;
    case ExprOp::Sub: return a - b;
    case ExprOp::Mul: return a * b;
    case ExprOp::Div: return a / b;
    case ExprOp::Pow: return std::pow(a, b);
    case ExprOp::Max: return scalar::maximum(a, b);
    case ExprOp::Min: return scalar::minimum(a, b);
    case ExprOp::Mod: return scalar::mod(a, b);
    default: throw Error(ErrorKind::internal, "no float " + std::string(name_of(op)));
  }
}

std::int64_t integer_binary(ExprOp op, DType dtype, std::int64_t a, std::int64_t b) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (op) {
    case ExprOp::Add: return static_cast<std::int64_t>(x + y);
    case ExprOp::Sub: return static_cast<std::int64_t>(x - y);
    case ExprOp::Mul: return static_cast<std::int64_t>(x * y);
    case ExprOp::Div: return scalar::divide(dtype, a, b);
    case ExprOp::Pow: return scalar::power(dtype, a, b);
    case ExprOp::Max: return scalar::less(dtype, a, b) ? b : a;
    case ExprOp::Min: return scalar::less(dtype, b, a) ? b : a;
    case ExprOp::Mod: return scalar::mod(dtype, a, b);
    case ExprOp::BitAnd: return a & b;
    case ExprOp::BitOr: return a | b;
    case ExprOp::BitXor: return a ^ b;
    case ExprOp::ShiftLeft: return scalar::shift_left(dtype, a, b);
    case ExprOp::ShiftRight: return scalar::shift_right(dtype, a, b);
    case ExprOp::And: return a != 0 && b != 0;
    case ExprOp::Or: return a != 0 || b != 0;
    default: throw Error(ErrorKind::internal, "no integer " + std::string(name_of(op)));
  }
}

template <class T>
bool compare(ExprOp op, T a, T b) {
  switch (op) {
    case ExprOp::Equal: return a == b;
    case ExprOp::NotEqual: return a != b;
    case ExprOp::Less: return a < b;
    case ExprOp::LessEqual: return a <= b;
    case ExprOp::Greater: return a > b;
    default: return a >= b;
  }
}

bool compare_integers(ExprOp op, DType dtype, std::int64_t a, std::int64_t b) {
  return dtype == DType::u64 ? compare(op, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)) : compare(op, a, b);
}

bool is_comparison(ExprOp op) { return op >= ExprOp::Equal && op <= ExprOp::GreaterEqual; }

Scalar cast(DType from, DType to, Scalar x) {
  if (is_float(to)) return {.number = is_float(from) ? x.number : scalar::to_number(x.integer, from)};
  return {.integer = is_float(from) ? scalar::to_integer(x.number, to) : scalar::truncate_bits(x.integer, to)};
}

Scalar binary(ExprOp op, DType dtype, Scalar a, Scalar b) {
  if (is_float(dtype)) return {.number = float_binary(op, a.number, b.number)};
  return {.integer = scalar::truncate_bits(integer_binary(op, dtype, a.integer, b.integer), dtype)};
}

}  // namespace

Scalar apply(const Expr& expr, DType from, const Scalar args[3]) {
  if (expr.op == ExprOp::Select) return args[0].integer != 0 ? args[1] : args[2];
  if (expr.op == ExprOp::Cast) return cast(from, expr.dtype, args[0]);
  if (expr.op == ExprOp::IsNan) return {.integer = std::isnan(args[0].number)};
  if (is_comparison(expr.op)) {
    return {.integer = is_float(from) ? compare(expr.op, args[0].number, args[1].number)
                                      : compare_integers(expr.op, from, args[0].integer, args[1].integer)};
  }
  if (rkernel::argument_count(expr.op) == 2) return binary(expr.op, expr.dtype, args[0], args[1]);
  if (is_float(expr.dtype)) return {.number = float_unary(expr.op, args[0].number)};
  return {.integer = scalar::truncate_bits(integer_unary(expr.op, expr.dtype, args[0].integer), expr.dtype)};
}

Scalar reduction_start(const Expr& expr) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (expr.op) {
    case ExprOp::ReduceMax: return {.number = -infinity, .integer = scalar::lowest(expr.dtype)};
    case ExprOp::ReduceMin: return {.number = infinity, .integer = scalar::highest(expr.dtype)};
    case ExprOp::ReduceProd: return {.number = 1, .integer = 1};
    default: return {};
  }
}

Scalar reduction_step(const Expr& expr, Scalar so_far, Scalar next) {
  switch (expr.op) {
    case ExprOp::ReduceMax: return binary(ExprOp::Max, expr.dtype, so_far, next);
    case ExprOp::ReduceMin: return binary(ExprOp::Min, expr.dtype, so_far, next);
    case ExprOp::ReduceProd: return binary(ExprOp::Mul, expr.dtype, so_far, next);
    default: return binary(ExprOp::Add, expr.dtype, so_far, next);
  }
}

}  // namespace dyn::testing
