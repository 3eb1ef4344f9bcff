#pragma once
// Lowers groups to problems.

#include <vector>

#include "graph/fusion/group.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::rkernel {

/// One problem for each group of `fusion`, in the same order. Axes that are adjacent and provably
/// contiguous in every operand are merged, so that an element-wise group over dense tensors has one
/// axis, and a matmul whose right side is shared by all batches has none but m, n, k.
std::vector<Problem> lower(const graph::Module& module, const graph::Fusion& fusion);

}  // namespace dyn::rkernel
