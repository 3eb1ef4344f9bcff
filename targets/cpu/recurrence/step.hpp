#pragma once
// One phase of a recurrence's step, for a team's rows and some of the columns: products, and after
// them the cells.

#include <array>
#include <optional>

#include "targets/cpu/recurrence/products.hpp"
#include "targets/cpu/recurrence/quantised_states.hpp"
#include "targets/llvm/math/recurrent_cell.hpp"

namespace dyn::cpu {

/// The rows of a team.
struct TeamRows {
  llvm::Value *count, *reversed;  ///< rows; an i1: whether their direction runs backwards
};

class StepCode {
 public:
  StepCode(RecurrenceFunction& function, const CellProducts& products, const TeamRows& rows)
      : function_(function),
        builder_(function.builder),
        code_(function.code),
        recurrence_(function.recurrence),
        products_(products),
        cell_(function.builder, function.math, recurrence_.cell, reader()),
        rows_(rows) {
    if (products.is_grouped()) quantised_.emplace(function);
  }

  /// Where a step is, and the states before and after it.
  struct Place {
    llvm::Value *step, *before, *after;
    ColumnRange columns;
  };
  void emit(int phase, const Place& place);

 private:
  struct GateRange {
    int first, count;
  };

  llvm::ConstantInt* number(std::int64_t value) { return code_.number(value); }
  codegen::CellCode::Reader reader();
  /// The vector of an operand of one gate, or one peephole.
  llvm::Value* load_of(int operand, int gate);
  llvm::Value* time_of(llvm::Value* length);
  llvm::Value* at(int slot, llvm::Value* row, llvm::Value* column) {
    return function_.state(function_.memory_at(slot), row, column);
  }
  llvm::Value* state_before(llvm::Value* row, llvm::Value* column) {
    return code_.load_vector(function_.state(place_.before, row, column));
  }
  void finish(llvm::Value* row, llvm::Value* column, llvm::Value* state);
  void emit_phase(int phase);
  template <class Sum>
  llvm::Value* state_after(llvm::Value* row, llvm::Value* column, const Sum& sum);
  template <class Cell>
  void emit_gates(const GateRange& gates, llvm::Value* states, const Cell& cell);
  void emit_sums(const CellProducts::Tile& tile, llvm::Value* count);
  llvm::Value* rescaled(llvm::Value* sums, int gate, llvm::Value* column,
                        const QuantisedStates::Numbers& numbers);
  template <class Cell>
  void emit_cells(const GateRange& gates, const Columns& columns, llvm::Value* first,
                  llvm::Value* count, const Cell& cell);

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  const rkernel::Recurrence& recurrence_;
  const CellProducts& products_;
  std::optional<QuantisedStates> quantised_;  ///< where the products are of groups
  codegen::CellCode cell_;
  const TeamRows rows_;
  Place place_{};  ///< of what is written
};

/// Where the length of a team's row lies.
llvm::Value* length_place(RecurrenceFunction& function, llvm::Value* row);

}  // namespace dyn::cpu
