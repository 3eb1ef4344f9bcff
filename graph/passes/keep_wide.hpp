#pragma once

#include <cstddef>
#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// What is computed from f16 and bf16 values stays f32 from one operator to the next; it is rounded
/// where an output, a state, a cast or a function of the host asks for its own dtype. Values that
/// are only moved keep it. Returns for each node the place that the one it comes from had.
std::vector<std::size_t> keep_wide(Module& module);

}  // namespace dyn::graph
