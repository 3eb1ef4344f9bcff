#pragma once
// Finds nodes that compute a value which exists already.

#include <functional>

#include "graph/passes/rewriter.hpp"

namespace dyn::graph {

/// The producer of a value as rewritten so far; nullptr where it has none.
using ProducerOf = std::function<const Node*(ValueId)>;

/// The value that the (single) result of `node` always equals, of the same type; no_value where
/// none is known.
ValueId identity_of(const Module& module, const Node& node);

/// Lets a view read through the view of the same kind that made its input: reshape of reshape,
/// transpose of transpose.
void skip_inner_view(const Module& module, Node& node, const ProducerOf& producer_of);

/// Gives a slice, which copies nothing, in the place of a gather by one constant index. False where
/// `node` is no such one, or where a run might have to refuse the index.
bool slice_for_gather(Rewriter& rewriter, const Node& node);

/// The constant that `node` computes from constants alone; no_value where it does not, or is no
/// such operator.
ValueId fold_constants(Rewriter& rewriter, const Node& node);

}  // namespace dyn::graph
