#pragma once
// The end of a ticket: parts of the keys are merged in their order, rows divided by their sums, and
// the outputs go through shared memory to the group's expressions.

#include "targets/ptx/attention/softmax.hpp"
#include "targets/ptx/contraction/epilogue.hpp"

namespace dyn::ptx {

/// All threads of the block come here after they have left the tiles; `shared` is then free: the
/// outputs lie there, and behind them the statistics of all parts.
class AttentionOutputs {
 public:
  AttentionOutputs(codegen::Builder& builder, const AttentionProducts& products,
                   OnlineSoftmax& softmax, Epilogue& epilogue)
      : builder_(builder), products_(products), softmax_(softmax), epilogue_(epilogue) {}

  void emit(RowState& state, llvm::Value* shared, llvm::Value* thread, const BlockOutputs& outputs);

 private:
  /// Maximum and sum of a row of a part, two floats. `part`, `row`: i32.
  llvm::Value* statistic(llvm::Value* shared, llvm::Value* part, llvm::Value* row);
  void write_statistics(const RowState& state, llvm::Value* shared);
  /// The factor of a row's accumulators of this part, by the statistics of all parts.
  llvm::Value* share_of_part(const RowState& state, llvm::Value* shared, int row);
  void publish_in_order(const RowState& state, llvm::Value* shared);

  codegen::Builder& builder_;
  const AttentionProducts& products_;
  OnlineSoftmax& softmax_;
  Epilogue& epilogue_;
};

}  // namespace dyn::ptx
