#include "src/rkernel/expr/expr_builder.hpp"

#include <bit>

namespace dyn::rkernel {

int ExprBuilder::add(const Expr& expr) {
  const Key key{expr.op,        expr.dtype,   expr.args[0],
                expr.args[1],   expr.args[2], std::bit_cast<std::uint64_t>(expr.number),
                expr.integer,   expr.operand, expr.axis,
                expr.dim.node()};
  const auto [known, added] = known_.try_emplace(key, static_cast<int>(exprs_.size()));
  if (added) exprs_.push_back(expr);
  return known->second;
}

int ExprBuilder::number(DType dtype, double value) {
  return add({.op = ExprOp::Constant, .dtype = dtype, .number = value, .dim = {}});
}

int ExprBuilder::integer(DType dtype, std::int64_t value) {
  return add({.op = ExprOp::Constant, .dtype = dtype, .integer = value, .dim = {}});
}

int ExprBuilder::dim(graph::Dim value) {
  if (const auto constant = value.constant()) return integer(DType::i64, *constant);
  return loaded_dim(value);
}

int ExprBuilder::loaded_dim(graph::Dim value) {
  return add({.op = ExprOp::DimValue, .dtype = DType::i64, .dim = value});
}

int ExprBuilder::index(int axis) {
  return add({.op = ExprOp::Index, .dtype = DType::i64, .axis = axis, .dim = {}});
}

int ExprBuilder::load(DType dtype, int operand, int gathered) {
  return add({.op = ExprOp::Load,
              .dtype = dtype,
              .args = {gathered, -1, -1},
              .operand = operand,
              .dim = {}});
}

int ExprBuilder::apply(ExprOp op, DType dtype, int a, int b, int c) {
  return add({.op = op, .dtype = dtype, .args = {a, b, c}, .dim = {}});
}

}  // namespace dyn::rkernel
