#pragma once
// A recurrence's function while it is written: its arguments, loops over rows and columns, and
// places in scratch.

#include <functional>
#include <string>
#include <vector>

#include "targets/cpu/recurrence/emitter.hpp"
#include "targets/cpu/x86/vector_code.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/math/math.hpp"
#include "targets/llvm/problem/operands.hpp"

namespace dyn::cpu {

struct ColumnRange {
  llvm::Value *begin, *end;
};

/// Some vectors of columns, one after the other.
struct Columns {
  llvm::Value* first;  ///< column
  int vectors = 1;
  llvm::Value* mask = nullptr;  ///< of the columns that exist; nullptr: all do
};

/// The builder stands where the next instruction goes.
struct RecurrenceFunction {
  RecurrenceFunction(llvm::Module& module, const std::string& symbol,
                     const rkernel::Problem& source, const codegen::Isa& isa,
                     const codegen::SlotTable& slot_table, const RecurrenceSlots& strategy_slots,
                     const RecurrenceClass& made_for);

  /// A new block at the end of the function; the builder stays where it is.
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(builder.getContext(), name, function);
  }
  llvm::ConstantInt* number(std::int64_t value) { return code.number(value); }
  llvm::Value* extent(int axis) const { return extents[static_cast<std::size_t>(axis)]; }
  llvm::Value* memory_at(int byte_offset_slot);
  /// Row `row` of states in the team's memory, at a column.
  llvm::Value* state(llvm::Value* states, llvm::Value* row, llvm::Value* column);

  /// body(row) for rows [0, count) of the team, with its index along the batch set.
  void for_each_row(llvm::Value* count, const char* name,
                    const std::function<void(llvm::Value*)>& body);
  /// body(columns) for a range of columns, `vectors` vectors at a time and then one by one. It
  /// begins with a panel and ends with one, or with the last column.
  void for_each_columns(const ColumnRange& range, int vectors,
                        const std::function<void(const Columns&)>& body);
  /// body(column) for each vector of some columns, with its index and mask set.
  void for_each_vector(const Columns& columns, const std::function<void(llvm::Value*)>& body);
  /// The same for all columns.
  void for_all_vectors(const std::function<void(llvm::Value*)>& body) {
    for_each_columns(all_columns(), 1,
                     [&](const Columns& columns) { for_each_vector(columns, body); });
  }
  ColumnRange all_columns() { return {number(0), extent(recurrence.n)}; }
  /// Sets an index for what `body` writes.
  void at(int axis, llvm::Value* index, const std::function<void()>& body);

  /// The vector of an operand at the current indices; zeros for -1.
  llvm::Value* load(int operand);

  codegen::Builder builder;
  VectorCode code;
  const rkernel::Problem& problem;
  const rkernel::Recurrence& recurrence;
  const codegen::SlotTable& slots;
  const RecurrenceSlots& strategy;
  const RecurrenceClass& shape_class;
  const int gates;
  codegen::Math math;
  llvm::Function* const function;
  const codegen::KernelArgsValues args;
  llvm::Value* const scratch;  ///< of the thread: a tile's sums, and what else its team has alone
  llvm::Value* const shared;   ///< of all teams
  codegen::Operands operands;
  const std::vector<llvm::Value*> extents;  ///< constants where the class knows them
  llvm::Value* const row_stride;            ///< floats from one row of a state to the next
  llvm::Value* first_row = nullptr;         ///< of the team, in the batch
  llvm::Value* memory = nullptr;            ///< of the team
};

}  // namespace dyn::cpu
