#include "tests/support/problems/expr_interpreter.hpp"

#include <limits>
#include <string>

#include "dyn/error.hpp"
#include "graph/ir/scalars.hpp"
#include "tests/support/half.hpp"

namespace dyn::testing {
namespace {

using rkernel::Expr;
using rkernel::ExprOp;

Scalar cast(DType from, DType to, Scalar x) {
  if (is_float(to))
    return {.number = is_float(from) ? x.number : graph::as_number(from, x.integer)};
  return {.integer = is_float(from) ? graph::saturated(to, x.number)
                                    : graph::wrapped(to, static_cast<std::uint64_t>(x.integer))};
}

/// The table's values of an operator; code for them is made from other columns.
Scalar scalar(graph::ScalarOp op, DType from, DType to, Scalar x, Scalar y) {
  const graph::ScalarOpInfo& info = graph::info_of(op);
  if (is_float(to)) return {.number = info.number(x.number, y.number)};
  if (is_float(from)) return {.integer = info.number(x.number, y.number) != 0};
  return {.integer = graph::wrapped(
              to, static_cast<std::uint64_t>(info.integer(from, x.integer, y.integer)))};
}

}  // namespace

Scalar apply(const Expr& expr, DType from, const Scalar args[3]) {
  switch (expr.op) {
    case ExprOp::Select: return args[0].integer != 0 ? args[1] : args[2];
    case ExprOp::Cast: return cast(from, expr.dtype, args[0]);
    case ExprOp::RoundF16:
      return {.number = half_value(DType::f16, half_bits(DType::f16, args[0].number))};
    case ExprOp::RoundBf16:
      return {.number = half_value(DType::bf16, half_bits(DType::bf16, args[0].number))};
    default: break;
  }
  const std::optional<graph::ScalarOp> op = rkernel::scalar_op(expr.op);
  if (!op) throw Error(ErrorKind::internal, "no values for " + std::string(name_of(expr.op)));
  return scalar(*op, from, expr.dtype, args[0], args[1]);
}

Scalar reduction_start(const Expr& expr) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (expr.op) {
    case ExprOp::ReduceMax: return {.number = -infinity, .integer = graph::least(expr.dtype)};
    case ExprOp::ReduceMin: return {.number = infinity, .integer = graph::greatest(expr.dtype)};
    case ExprOp::ReduceProd: return {.number = 1, .integer = 1};
    default: return {};
  }
}

Scalar reduction_step(const Expr& expr, Scalar so_far, Scalar next) {
  switch (expr.op) {
    case ExprOp::ReduceMax:
      return scalar(graph::ScalarOp::Max, expr.dtype, expr.dtype, so_far, next);
    case ExprOp::ReduceMin:
      return scalar(graph::ScalarOp::Min, expr.dtype, expr.dtype, so_far, next);
    case ExprOp::ReduceProd:
      return scalar(graph::ScalarOp::Mul, expr.dtype, expr.dtype, so_far, next);
    default: return scalar(graph::ScalarOp::Add, expr.dtype, expr.dtype, so_far, next);
  }
}

}  // namespace dyn::testing
