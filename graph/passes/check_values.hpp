#pragma once

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Where integers are divided, a run in which a divisor is 0 fails, as one with an index out of
/// range does: each divisor b becomes b + range(1)[b = 0].
void check_values(Module& module);

}  // namespace dyn::graph
