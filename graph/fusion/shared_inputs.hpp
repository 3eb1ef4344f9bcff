#pragma once
// Nodes that read a tensor which a group reads, though neither reads the other: one pass over the
// tensor serves both.

#include <vector>

namespace dyn::graph {

class Grower;

/// For a group around a reduction: reductions of its index space over a tensor that the group reads
/// whole, or over element-wise work on it. For a chain of element-wise work: such work on a tensor
/// of its dims. None that has a group already; ascending.
std::vector<int> nodes_sharing_inputs(const Grower& group);

}  // namespace dyn::graph
