#pragma once
// Prologues: element-wise work on a factor of a matmul, or on an image that windows slide over,
// done where a block of it is moved into scratch. It then never exists in memory.

#include <optional>

#include "graph/fusion/grower.hpp"

namespace dyn::graph {

/// Which input of the group's matmul a node's result becomes, directly or behind members of the
/// prologue; nothing: none, or one that is read from memory in any case.
std::optional<int> factor_fed_by(const Grower& group, int node);

/// True where the result at this place is the whole factor, each element once; of an image, where
/// it is an element of each channel.
bool is_place_of_factor(const Grower& group, int factor, const Coords& place);

/// True where an operand of the node, whose result is computed at `place`, lies across the moves of
/// the factor: its elements would be gathered one by one. Of an image: where another operand than
/// one image varies along more than channels, or a view stands between.
bool reads_across(const Grower& group, int factor, int node, const Coords& place);

/// Each block of results computes the factor anew. True where the products that a block makes of an
/// element hide this node, and those of the prologue so far.
bool prologue_pays(const Grower& group, int factor, int node);

/// True where another kernel has to pass over an operand, and computes the node meanwhile.
bool another_passes_over(const Grower& group, int node);

}  // namespace dyn::graph
