#pragma once
// Which results of matmuls and convolutions take the memory of a tensor that their epilogue reads
// for the last time, element by element: a residual.

#include <map>
#include <set>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/rkernel/problem/problem.hpp"

namespace dyn::runtime {

/// From the result's buffer to that whose memory it takes. All problems run on the host, in this
/// order; `ports`: inputs, outputs and states, whose memory is not ours. Chains are possible. An
/// element of such a result depends on the element that it replaces, so that no kernel can write it
/// earlier; a kernel that reads elements of a residual twice, or leaves sums in its output, would
/// be wrong.
std::map<graph::ValueId, graph::ValueId> results_in_place(
    const graph::Module& module, const std::vector<rkernel::Problem>& problems,
    const std::set<graph::ValueId>& ports);

}  // namespace dyn::runtime
