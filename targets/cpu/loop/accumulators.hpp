#pragma once
// Accumulators of lanes along a parallel axis, in memory: a chunk of lanes for each reduction.

#include "targets/cpu/loop/partials.hpp"

namespace dyn::cpu {

class LaneAccumulators {
 public:
  /// For the lanes of a chunk that begins at `first_lane`.
  LaneAccumulators(const LoopContext& context, const AccumulatorMemory& where,
                   llvm::Value* first_lane)
      : context_(context), array_(context, where.memory), row_(where.row), first_(first_lane) {}

  /// The vector of a reduction at the lanes from `lane` on.
  llvm::Value* load(int expr, llvm::Value* lane) const;
  LoopValues load_all(const codegen::LoopPass& pass, llvm::Value* lane) const;
  void store_all(const codegen::LoopPass& pass, const LoopValues& accumulators,
                 llvm::Value* lane) const;
  void store_neutral(const codegen::LoopPass& pass, llvm::Value* lane) const;
  /// The second stage's: what the slices' partial results make.
  void store_merged(const codegen::LoopPass& pass, const LoopPartials& partials,
                    llvm::Value* lane) const;
  /// The results of the passes before one (nullptr: of all) at a vector of lanes.
  BoundExprs results_before(const codegen::LoopPass* pass, llvm::Value* lane) const;

 private:
  llvm::Value* place(int expr, llvm::Value* lane) const;

  const LoopContext& context_;
  ScratchArray array_;
  llvm::Value *row_, *first_;
};

}  // namespace dyn::cpu
