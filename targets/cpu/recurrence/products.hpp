#pragma once
// The sums of a recurrence's step: a tile of rows of the batch, times the weights of some gates at
// the same columns.

#include <vector>

#include "targets/cpu/recurrence/function.hpp"

namespace dyn::cpu {

/// Panels of each gate's weights.
struct GatePanels {
  llvm::Value *data, *gate_bytes;  ///< from one gate's panels to the next
  rkernel::Factors factors;
};

class CellProducts {
 public:
  using Values = std::vector<llvm::Value*>;

  CellProducts(RecurrenceFunction& function, const GatePanels& panels);

  /// Of the product of states with gates [first_gate, first_gate + gates) of the weights.
  struct Tile {
    llvm::Value* states;      ///< the first row: of f32, or of groups
    llvm::Value* row_stride;  ///< from one row to the next, in f32 or groups
    int first_gate, gates;
    Columns columns;
    int rows;
  };
  /// The biases, which lie in the team's memory, and after them the products, added in the order of
  /// the state: a vector for each row, gate and vector of columns, in this order. Groups have no
  /// biases.
  Values emit(const Tile& tile) const;
  bool is_grouped() const { return panels_.factors.grouped(); }
  /// The sums of the weights of a vector of columns, i32, where panels of bytes hold them.
  llvm::Value* column_sums(int gate, llvm::Value* column) const;

 private:
  Values emit_steps(const Tile& tile, const Values& state, llvm::Value* count, int steps) const;
  void emit_step(const Tile& tile, Values& state, int step) const;
  /// Asks for the weights that come some steps later.
  void prefetch(const Tile& tile, llvm::Value* place, int steps) const;
  llvm::Value* weights(const Tile& tile, llvm::Value* place, int step, int gate, int vector) const;
  llvm::Value* factor(const Tile& tile, llvm::Value* place, int step, int row) const;
  Values first_sums(const Tile& tile) const;
  llvm::Value* panel(llvm::Value* column) const;

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  GatePanels panels_;
  const DType step_;  ///< as wide as what a step reads of a column
  llvm::Value* k_;    ///< steps
  llvm::Value* panel_elements_;
};

}  // namespace dyn::cpu
