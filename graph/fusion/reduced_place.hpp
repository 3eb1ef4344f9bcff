#pragma once
// Where a group of reductions computes one of them: reductions of one kernel go over one index
// space, which each may see in its own shape.

#include <optional>
#include <vector>

#include "graph/ir/coord.hpp"
#include "graph/ir/module.hpp"

namespace dyn::graph {

/// True for each axis that the reduction reduces.
std::vector<bool> reduced_axes(const Node& reduction, int rank);

struct ReducedPlace {
  ValueId read;   ///< the reduction's input, or what that is a reshape of: its dims are the group's
  Coords result;  ///< the place of the result
};

/// Nothing where the reduction is not of the group's axes: `extents`, of which `reduced` are.
/// Reduced and parallel axes of an input in another shape must each be whole axes of the group, one
/// after the other: [B * S, 768] fits into [B, S, 768] where the last axis is reduced.
std::optional<ReducedPlace> reduced_place(const Module& module, const std::vector<Dim>& extents,
                                          const std::vector<bool>& reduced, const Node& reduction);

}  // namespace dyn::graph
