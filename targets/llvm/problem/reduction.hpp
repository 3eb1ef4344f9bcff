#pragma once
// Accumulators of reductions in generated code.

#include <span>

#include "src/rkernel/expr/expr.hpp"
#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

/// The value of a reduction of floating-point numbers over no elements.
double neutral_number(rkernel::ExprOp op);

/// One reduction's arithmetic: its value over no elements, a step, and the merge of partial results
/// in a fixed order.
class Reduction {
 public:
  Reduction(Builder& builder, MathOptions options, const rkernel::Expr& expr)
      : builder_(builder), math_(builder, options), expr_(expr) {}

  /// The value in every lane.
  llvm::Value* neutral(int width);
  llvm::Value* step(llvm::Value* so_far, llvm::Value* next);
  /// Lanes outside `mask` (nullptr: none are) keep their value.
  llvm::Value* masked_step(llvm::Value* so_far, llvm::Value* next, llvm::Value* mask);
  /// One scalar from all lanes of all parts: halves are combined until one lane is left, so that
  /// the order of the additions depends on the number of lanes alone.
  llvm::Value* merge(std::span<llvm::Value* const> parts);

 private:
  Builder& builder_;
  Math math_;
  const rkernel::Expr& expr_;
};

}  // namespace dyn::codegen
