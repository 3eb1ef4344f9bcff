#pragma once
// The functions of recurrent cells on values of f32, scalars or vectors.

#include <array>
#include <functional>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/math/math.hpp"

namespace dyn::codegen {

/// Emits the cell's function for one value of the state. `sums`: what the products and biases of
/// the recurrence give, by gate.
class CellCode {
 public:
  /// How a machine reads what a cell needs beside its sums: the inputs' share of a gate, and a
  /// peephole's weight (not called where the cell has none). `fma` is that of the math.
  struct Reader {
    llvm::Type* type;  ///< of all values
    bool fma, has_peepholes;
    std::function<llvm::Value*(int)> gate, peephole;
  };
  CellCode(Builder& builder, Math& math, const rkernel::Cell& cell, Reader reader)
      : builder_(builder), math_(math), cell_(cell), reader_(std::move(reader)) {}

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
  llvm::Value* splat(double value) { return llvm::ConstantFP::get(reader_.type, value); }
  llvm::Value* fused(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
    return multiply_add(builder_, reader_.fma, a, b, c);
  }
  llvm::Value* clipped(llvm::Value* x);
  llvm::Value* activated(const graph::Activation& activation, llvm::Value* x);
  llvm::Value* scalar(rkernel::ExprOp op, llvm::Value* x) {
    return math_.apply(op, DType::f32, DType::f32, x);
  }
  /// `below` where x is below the limit, else x.
  llvm::Value* where_below(llvm::Value* x, double limit, llvm::Value* below);
  /// `sum` and the peephole's share of `c`.
  llvm::Value* with_peephole(llvm::Value* sum, int index, llvm::Value* c);

  Builder& builder_;
  Math& math_;
  const rkernel::Cell& cell_;
  const Reader reader_;
};

}  // namespace dyn::codegen
