#pragma once
// The end of a ticket: parts of the keys are merged in their order, rows divided by their sums, and
// the outputs go through shared memory to the group's expressions.

#include <functional>

#include "targets/ptx/attention/key_parts.hpp"
#include "targets/ptx/contraction/epilogue.hpp"

namespace dyn::ptx {

/// All threads of the block come here after they have left the tiles; `shared` is then free: the
/// outputs lie there, and behind them the statistics of all parts that the block's warps have.
class AttentionOutputs {
 public:
  AttentionOutputs(codegen::Builder& builder, const AttentionProducts& products,
                   OnlineSoftmax& softmax, Epilogue& epilogue)
      : builder_(builder), products_(products), softmax_(softmax), epilogue_(epilogue) {}

  void emit(RowState& state, llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs);
  /// The same where blocks may share the rows: only the one that has all keys, or that arrives
  /// last, stores outputs. `memory` emits what finds the launch's memory, where there is some.
  void emit_shared(RowState& state, llvm::Value* shared, llvm::Value* thread,
                   const BlockOutputs& outputs, const KeyPart& part,
                   const std::function<PartMemory()>& memory);

 private:
  /// A row of this thread over all keys of the block; `weight`: of its own accumulators, nullptr:
  /// 1.
  struct WholeRow {
    RowStatistics statistics;
    llvm::Value* weight;
  };
  /// Maximum and sum of a row of a part, two floats. `part`, `row`: i32.
  llvm::Value* statistic(llvm::Value* shared, llvm::Value* part, llvm::Value* row);
  void write_statistics(const RowState& state, llvm::Value* shared);
  /// The thread's rows; begins with a barrier.
  std::vector<WholeRow> whole_rows(RowState& state, llvm::Value* shared);
  WholeRow merged_row(const RowState& state, llvm::Value* shared, int row);
  /// Publishes accumulators * factor of their row.
  void publish(RowState& state, const std::vector<llvm::Value*>& factors, llvm::Value* shared);
  void publish_in_order(const RowState& state, llvm::Value* shared);

  codegen::Builder& builder_;
  const AttentionProducts& products_;
  OnlineSoftmax& softmax_;
  Epilogue& epilogue_;
};

}  // namespace dyn::ptx
