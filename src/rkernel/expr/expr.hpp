#pragma once
// Scalar expressions: they compute one element, as a flat DAG in topological order.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"
#include "graph/dims/dim.hpp"
#include "graph/ops/scalar_ops.hpp"

namespace dyn::rkernel {

enum class ExprOp : std::uint8_t {
  // leaves
  Constant,  ///< `number` (floats) or `integer`
  DimValue,  ///< the i64 value of `dim`
  Index,     ///< the i64 index along axis `axis`
  Load,      ///< operand `operand` at the current indices; with gather: plus args[0] (i64) * gather
             ///< stride
  Accumulator,  ///< the contraction's value number `integer` at the current indices
// graph::ScalarOp
#define DYN_SCALAR_OP(name, ...) name,
#include "graph/ops/scalar_ops.def"
  Cast,
  BitCast,
  RoundF16,
  RoundBf16,  ///< an f32 as the 16-bit float holds it
  Select,     ///< args[0] (boolean) ? args[1] : args[2]
  // over all reduction axes of the problem; the result does not vary along them
  ReduceSum,
  ReduceMax,
  ReduceMin,
  ReduceProd
};

std::string_view name_of(ExprOp op) noexcept;
int argument_count(ExprOp op) noexcept;  ///< Load: 0 or 1
/// Nothing for an operator that is not in graph/ops/scalar_ops.def.
constexpr std::optional<graph::ScalarOp> scalar_op(ExprOp op) noexcept {
  if (op <= ExprOp::Accumulator || op >= ExprOp::Cast) return std::nullopt;
  return static_cast<graph::ScalarOp>(static_cast<int>(op) - static_cast<int>(ExprOp::Accumulator) -
                                      1);
}
constexpr ExprOp expr_op(graph::ScalarOp op) noexcept {
  return static_cast<ExprOp>(static_cast<int>(op) + static_cast<int>(ExprOp::Accumulator) + 1);
}
/// True where the result on numbers that a dtype holds is such a number too.
bool is_exact(ExprOp op) noexcept;
constexpr bool is_reduction(ExprOp op) noexcept {
  return op >= ExprOp::ReduceSum && op <= ExprOp::ReduceProd;
}

struct Expr {
  ExprOp op = ExprOp::Constant;
  DType dtype = DType::f32;  ///< of the result; never f16 or bf16: a Load of such an operand is f32
  int args[3] = {-1, -1, -1};  ///< indices of earlier expressions
  double number = 0;
  std::int64_t integer = 0;
  int operand = -1;
  int axis = -1;
  graph::Dim dim;
};

/// True for each expression that at least one root contains.
std::vector<bool> reached_exprs(std::span<const Expr> exprs, std::span<const int> roots);

}  // namespace dyn::rkernel
