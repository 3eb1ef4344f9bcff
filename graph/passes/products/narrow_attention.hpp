#pragma once

#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Lets attention read keys and values in the bits that states and inputs hold them in: casts of
/// f16 and bf16 to f32 go, and so do casts of i8 times a scale for each row (attribute `scales`),
/// together with the views between. Keys and values stay where their last axis would not lie in one
/// run, or the target does not read their dtype (DecomposeOptions::key_dtypes). Runs when
/// everything else is done to a module but its fusion.
void narrow_attention(Module& module, const std::vector<DType>& dtypes);

}  // namespace dyn::graph
