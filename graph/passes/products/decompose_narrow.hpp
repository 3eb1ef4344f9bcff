#pragma once
// Products of narrow elements.

#include "graph/fusion/group.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {

/// A product of u8 or i16 by i8, or of bf16 by f32 or, after widen_halves(), by what is no weight.
bool is_narrow_product(const Module& module, const Node& node);

/// Gives such products (matmul, conv, window_matmul) the form that the target contracts; where it
/// contracts none, or none of these sizes, they become exact products of f32, or matmuls of i32
/// where the sums have too many terms. Throws Error(unsupported) for convolutions of such. Other
/// compound operators stay.
void decompose_narrow_products(Module& module, const DecomposeOptions& options);

}  // namespace dyn::graph
