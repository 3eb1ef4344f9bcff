#pragma once
// Small independent groups become one: a launch of a device takes longer than they do.

#include <vector>

#include "graph/fusion/group.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// Puts together what the target bundles, group by group with its problem. A group joins the first
/// one that can take it, and runs then: no group between the two touches what it writes, or writes
/// what it touches.
void bundle_groups(graph::Fusion& fusion, std::vector<rkernel::Problem>& problems,
                   const rkernel::Target& target);

}  // namespace dyn::runtime
