#pragma once
// Partial results of the slices of reductions, in the memory that threads share.

#include <functional>

#include "targets/cpu/loop/context.hpp"
#include "targets/cpu/loop/scratch.hpp"

namespace dyn::cpu {

/// Memory of accumulators: those of one reduction after those of another.
struct AccumulatorMemory {
  llvm::Value* memory;
  llvm::Value* row;  ///< elements from the accumulators of one reduction to those of the next
};

/// The partial results that one ticket writes or merges; only where LoopProblem::sliced.
class LoopPartials {
 public:
  LoopPartials(const LoopContext& context, const LoopTicket& ticket)
      : context_(context),
        builder_(context.builder),
        ticket_(ticket),
        shared_(context, context.shared) {}

  /// Where a ticket with the lanes from `begin` on accumulates: where its partial results lie, or,
  /// as all points are one slice, in `whole`.
  AccumulatorMemory accumulators(const AccumulatorMemory& whole, llvm::Value* begin) const;
  /// Stores a scalar for each reduction, where there are several slices.
  void store(const LoopValues& results) const;
  /// The result of a reduction, the number `reduction` of its pass, from the slices in their order:
  /// `width` lanes from `lane` on.
  llvm::Value* merged(int expr, std::size_t reduction, llvm::Value* lane, int width) const;
  /// A scalar for each reduction.
  LoopValues merged_row(const codegen::LoopPass& pass) const;

 private:
  llvm::Value* slice() const;
  llvm::Value* row() const;
  /// Place of a slice's partial result, in elements of scratch.
  llvm::Value* place(std::size_t reduction, llvm::Value* slice, llvm::Value* lane) const;

  const LoopContext& context_;
  codegen::Builder& builder_;
  const LoopTicket& ticket_;
  ScratchArray shared_;
};

/// The slots of a reduction axis that slices divide.
const SliceSlots::Axis& sliced_axis(const LoopProblem& loop, int axis);

/// In code that runs where the results that a ticket has are those of all slices.
void when_whole(const LoopContext& context, const std::function<void()>& emit_it);

}  // namespace dyn::cpu
