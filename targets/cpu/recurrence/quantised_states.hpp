#pragma once
// States as integers: what a step's product reads where weights are integers.

#include "targets/cpu/recurrence/function.hpp"

namespace dyn::cpu {

/// Bytes from one row of quantised states to the next in scratch: a line of the row's numbers, and
/// after it the elements, filled up to whole vectors.
std::int64_t quantised_row_bytes(const codegen::Isa& isa, rkernel::Group group,
                                 std::int64_t hidden);

/// A ticket's rows of them. Each has a scale and a zero point of its own, which follow from its
/// least and its greatest state as in DynamicQuantizeLinear; NaN in a state becomes NaN in the
/// scale.
class QuantisedStates {
 public:
  explicit QuantisedStates(RecurrenceFunction& function);

  /// Quantises `count` rows.
  void emit(llvm::Value* states, llvm::Value* count);

  /// The elements of a row, as groups of four bytes.
  llvm::Value* elements(llvm::Value* row);
  llvm::Value* row_bytes() const { return row_bytes_; }

  /// A row's numbers, in all lanes.
  struct Numbers {
    llvm::Value *scale, *zero_point;
  };
  Numbers numbers(llvm::Value* row);

 private:
  llvm::Value* row_at(llvm::Value* row);
  Numbers emit_numbers(llvm::Value* states);
  void emit_elements(llvm::Value* states, const Numbers& numbers, llvm::Value* to);

  RecurrenceFunction& function_;
  codegen::Builder& builder_;
  VectorCode& code_;
  llvm::Value* row_bytes_;
};

}  // namespace dyn::cpu
