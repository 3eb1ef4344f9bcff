#pragma once

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// f16 and bf16 values that are contracted, or that enter the several steps of a compound operator,
/// become f32 before it, and its result is rounded once. Weights that are contracted are converted
/// when they are loaded: each becomes an f32 weight of one part. So does one that is cast to f32
/// and then contracted, and read by nothing else. Where `multiplies_bfloats`, products of bf16 by a
/// weight keep their left side, and round the sums of exact products.
void widen_halves(Module& module, bool multiplies_bfloats = false);

}  // namespace dyn::graph
