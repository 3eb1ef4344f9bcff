#pragma once
// Reductions of so much to so few results that one ticket for each would leave threads without
// work: the points of the reduction axes are cut in slices, and a second stage merges the slices'
// results in their order. The sizes alone say how, so that the number of threads changes no bit.

#include <cstdint>
#include <span>
#include <vector>

#include "targets/cpu/loop/class.hpp"

namespace dyn::cpu {

/// Whether any sizes within the bounds of the axes make more than one slice.
bool may_slice(const rkernel::Problem& problem);
SliceSlots add_slice_slots(const rkernel::Problem& problem, codegen::SlotTable& slots);
/// What the slices of each reduction leave, for the tree.
std::vector<rkernel::Carried> carried_values(const rkernel::Problem& problem);

/// A division in slices: for each of SliceSlots::axes the points of one slice along it, and how
/// many slices that makes.
struct LoopSlices {
  std::int64_t count = 1;  ///< in all
  std::vector<std::int64_t> chunk, chunks;
};
LoopSlices slices_of(const LoopProblem& loop, std::span<const std::int64_t> ints);

}  // namespace dyn::cpu
