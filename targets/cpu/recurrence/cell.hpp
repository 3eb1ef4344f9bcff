#pragma once
// The functions of recurrent cells on vectors.

#include <array>

#include "targets/cpu/recurrence/function.hpp"

namespace dyn::cpu {

/// Emits the cell's function for one vector of columns at the operands' current indices. `sums`:
/// what the products and biases of the recurrence give, by gate.
class CellCode {
 public:
  explicit CellCode(RecurrenceFunction& function)
      : function_(function), builder_(function.builder), cell_(function.recurrence.cell) {}

  struct State {
    llvm::Value *h, *c;
  };
  /// `c`: the cells' state before the step.
  State lstm(const std::array<llvm::Value*, 4>& sums, llvm::Value* c);
  llvm::Value* rnn(llvm::Value* sum);

  struct Gates {
    llvm::Value *update, *reset;
  };
  Gates gru_gates(llvm::Value* update_sum, llvm::Value* reset_sum);
  /// The state after the step, from the sum of the third gate, on which the reset gate has worked,
  /// and the state before it.
  llvm::Value* gru(llvm::Value* update, llvm::Value* sum, llvm::Value* h);

 private:
  /// The inputs' share of a gate.
  llvm::Value* gate(int index);
  llvm::Value* clipped(llvm::Value* x);
  llvm::Value* activated(const graph::Activation& activation, llvm::Value* x);
  llvm::Value* scalar(rkernel::ExprOp op, llvm::Value* x) {
    return function_.math.apply(op, DType::f32, DType::f32, x);
  }
  /// `below` where x is below the limit, else x.
  llvm::Value* where_below(llvm::Value* x, double limit, llvm::Value* below);
  /// `sum` and the peephole's share of `c`.
  llvm::Value* with_peephole(llvm::Value* sum, int index, llvm::Value* c);

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  const rkernel::Cell& cell_;
};

}  // namespace dyn::cpu
