#pragma once
// Expressions of a problem, each kept once.

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "src/rkernel/expr/expr.hpp"

namespace dyn::rkernel {

class ExprBuilder {
 public:
  explicit ExprBuilder(std::vector<Expr>& exprs) : exprs_(exprs) {}

  DType dtype(int expr) const { return exprs_[static_cast<std::size_t>(expr)].dtype; }
  const Expr& at(int expr) const { return exprs_[static_cast<std::size_t>(expr)]; }

  int add(const Expr& expr);
  int number(DType dtype, double value);  ///< of a float dtype
  int integer(DType dtype, std::int64_t value);
  int dim(graph::Dim value);  ///< an i64; a constant where it is one
  /// The same, read at run time even where it is a constant: where parts meet is no reason for code
  /// of its own.
  int loaded_dim(graph::Dim value);
  int index(int axis);
  int load(DType dtype, int operand, int gathered = -1);
  int apply(ExprOp op, DType dtype, int a, int b = -1, int c = -1);

 private:
  using Key = std::tuple<ExprOp, DType, int, int, int, std::uint64_t, std::int64_t, int, int,
                         const graph::DimNode*>;
  std::vector<Expr>& exprs_;
  std::map<Key, int> known_;
};

}  // namespace dyn::rkernel
