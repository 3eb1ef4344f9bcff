#pragma once
// Divides a loop kernel's work into passes over its reduction axes, each with values that it
// computes and keeps.

#include <vector>

#include "targets/llvm/problem/instruction_counts.hpp"
#include "targets/llvm/problem/variation.hpp"

namespace dyn::codegen {

/// A problem over a single element has no axis; code needs one for its lanes.
rkernel::Problem with_lanes(rkernel::Problem problem);

/// One sweep over all reduction axes.
struct LoopPass {
  std::vector<int> reductions;  ///< expressions that it finishes
  std::vector<int> stores;      ///< indices of stores of values that vary along reduction axes
  std::vector<int> saved;       ///< expressions whose values go to scratch
  std::vector<int> loaded;      ///< expressions whose values come from scratch
  std::vector<int> roots;       ///< all expressions that it needs
};

struct LoopPasses {
  std::vector<LoopPass> passes;
  std::vector<int>
      final_stores;          ///< indices of stores of values that do not vary along reduction axes
  std::vector<int> scratch;  ///< expressions with a place in scratch, in order
  std::vector<int> final_roots() const;

  const rkernel::Problem* problem = nullptr;
};

/// A value that takes more vector instructions than this is kept in scratch rather than computed
/// again.
inline constexpr double scratch_threshold = 3;

/// Reductions that depend on others come in later passes; a store comes in the first pass that has
/// its value. With `scratch`, expensive values that several passes need are computed once;
/// expensive are those of more than `threshold` vector instructions.
LoopPasses plan_passes(const rkernel::Problem& problem, const SlotTable& slots,
                       std::span<const StrideClass> lane_classes, bool scratch,
                       double threshold = scratch_threshold);

}  // namespace dyn::codegen
