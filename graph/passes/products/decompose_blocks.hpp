#pragma once
// Numbers in blocks (unpack_blocks).

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {

/// Those of weights become weights of blocks (WeightSource::Kind::Blocks), others are computed.
void decompose_blocks(Module& module);

}  // namespace dyn::graph
