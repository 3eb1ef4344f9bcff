#pragma once
// The part of a contraction's kernel that computes one region of the output, by a walk over the
// tree of its tile.

#include "targets/llvm/problem/operands.hpp"
#include "targets/ptx/contraction/emitter.hpp"

namespace dyn::ptx {

/// The regions of one kernel share this.
struct KernelFrame {
  codegen::Builder& builder;
  const codegen::SlotTable& slots;
  codegen::KernelArgsValues args;
  llvm::Value *thread, *shared;  ///< its index in the block, i32; the block's shared memory
  int barriers_taken = 0;        ///< stages whose barriers regions have taken so far
};

/// Emits the loop over the region's tickets, at the builder's place. `before`: the grid of the
/// region whose tickets come before its own, else nullptr.
void emit_region(KernelFrame& frame, const RegionTree& region,
                 const GpuContractionClass& shape_class, const GridSlots* before);

}  // namespace dyn::ptx
