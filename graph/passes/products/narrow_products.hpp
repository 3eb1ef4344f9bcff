#pragma once

#include <functional>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Rounds the left sides of products of f32 by weights to bf16, so that the target multiplies both
/// sides in it, or to f16, which it multiplies as f32: of those whose weights are one matrix, and
/// whose depth is known and has groups (ConstantProducts). Sums stay f32. Others that read such a
/// value, unless it is an input, read what was rounded too. Runs when everything else is done to a
/// module but its fusion, or on a module as it was parsed.
void narrow_products(
    Module& module, DType dtype,
    const std::function<bool(const Node&)>& chosen = [](const Node&) { return true; });

}  // namespace dyn::graph
