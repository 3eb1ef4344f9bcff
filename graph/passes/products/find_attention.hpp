#pragma once

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Makes one `attention` of softmax(q * k^T * scale + mask) * v where nobody else reads what lies
/// between, and all of it is f32. A row that sees nothing then gives 0 in place of NaN. Runs before
/// softmax is decomposed.
void find_attention(Module& module);

}  // namespace dyn::graph
