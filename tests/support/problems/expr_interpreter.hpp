#pragma once
// Computes one scalar expression from the values of its arguments.

#include <cstdint>

#include "src/rkernel/expr/expr.hpp"

namespace dyn::testing {

/// `number` where the dtype is a float, else `integer`.
struct Scalar {
  double number = 0;
  std::int64_t integer = 0;
};

/// Any operator with arguments, except Load and the reductions; `from` is the dtype of args[0].
Scalar apply(const rkernel::Expr& expr, DType from, const Scalar args[3]);

Scalar reduction_start(const rkernel::Expr& expr);
Scalar reduction_step(const rkernel::Expr& expr, Scalar so_far, Scalar next);

}  // namespace dyn::testing
