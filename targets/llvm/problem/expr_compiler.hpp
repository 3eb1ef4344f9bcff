#pragma once
// The scalar expression compiler: rkernel::Expr to LLVM IR, at any vector width, in the loops of
// any emitter.

#include <map>
#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/llvm/problem/operands.hpp"

namespace dyn::codegen {

/// Compiles expressions at the place where the builder stands. Each expression is compiled once for
/// each scope that it varies in: what does not vary along the lanes is one scalar, broadcast; what
/// does not vary in inner loops is hoisted by enter(). An emitter's use, for rows outside and lanes
/// inside:
///
///   compiler.enter(axis_bit(m) | axis_bit(n), roots);             // before the loops
///   ... loop over m: operands.set_index(m, i);
///   compiler.enter(axis_bit(n), roots);                           // hoists what does not vary
///   along n
///   ... loop over n: operands.set_index(n, j); operands.set_mask(mask or nullptr);
///   compiler.enter(0); compiler.bind(accumulator_expr, vector);   // one body
///   compiler.store(problem.stores[i]);
///   compiler.leave();  ... close the loop, compiler.leave();  ... close the loop,
///   compiler.leave();
class ExprCompiler {
 public:
  /// Bodies have the width of `operands`.
  ExprCompiler(Builder& builder, const rkernel::Problem& problem, Operands& operands,
               MathOptions options);

  /// True where each body lies between two borders of the lane axis: comparisons with them are then
  /// scalars, and so are guards.
  void set_segmented(bool segmented);

  /// Opens a scope inside of which only the axes `inner` will get new indices. Sums addresses and
  /// compiles now whatever the roots need that does not vary along them.
  void enter(AxisSet inner, std::span<const int> roots = {});
  /// Ends the scope and forgets everything compiled in it.
  void leave();

  /// Binds the value of an expression in this scope, which the emitter computed: accumulators,
  /// finished reductions, values from scratch. A scalar, or a vector (of equal lanes where the
  /// expression does not vary along the lane axis).
  void bind(int expr, llvm::Value* value);
  /// The same for every Accumulator expression, by its number.
  void bind_accumulators(std::span<llvm::Value* const> values);
  void bind_accumulator(llvm::Value* value) { bind_accumulators({&value, 1}); }

  /// A vector of the width, whatever the expression.
  llvm::Value* compile(int expr);
  /// The natural form: a scalar where the expression does not vary along the lane axis.
  llvm::Value* compile_natural(int expr);
  /// Stores at the current indices: a vector where the operand's stride along the lane axis is not
  /// 0, else one element.
  void store(const rkernel::Store& store);

  /// Axes along which an expression varies.
  AxisSet varies(int expr) const { return varies_[static_cast<std::size_t>(expr)]; }
  bool varies_along_lanes(int expr) const {
    return (varies(expr) & axis_bit(problem_.lane_axis)) != 0 &&
           !(segmented_ && is_border(problem_, expr));
  }

 private:
  struct Entry {
    llvm::Value* natural = nullptr;
    llvm::Value* lanes = nullptr;
  };
  void hoist(int expr, AxisSet inner, std::vector<bool>& visited);
  const Entry* find(int expr) const;
  int rounded_by_store(const rkernel::Store& store) const;
  llvm::Value* emit(const rkernel::Expr& expr, bool lanes);
  /// The choices, where an expression only chooses among loads, by conditions that are the same for
  /// all lanes. Else false.
  bool find_choices(int expr, llvm::Value* condition, std::vector<Operands::Choice>& choices);

  Builder& builder_;
  const rkernel::Problem& problem_;
  Operands& operands_;
  Math math_;
  bool segmented_ = false;
  std::vector<AxisSet> varies_;
  std::vector<std::map<int, Entry>> scopes_;
};

}  // namespace dyn::codegen
