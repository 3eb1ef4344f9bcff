#pragma once
// Products of windows whose channels are no whole number of groups.

#include <functional>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// True where a product whose depth (of a conv or window_matmul: channels) is this one can be
/// multiplied in groups of so many elements: rows of a matmul may end with part of one.
bool has_groups(const Node& node, Dim depth, std::int64_t group);

/// True where a target can multiply the left side of a product in groups of so many elements: a
/// matmul, whose rows may end with part of one, or a window_matmul or conv whose channels are whole
/// groups, or are filled up by fill_groups().
bool may_have_groups(const Module& module, const Node& node, std::int64_t group);

/// Fills the channels of convolutions and window_matmuls by weights up to whole groups, of as many
/// elements as `group_of` says (0: the product stays as it is), with zeros behind those of their
/// left sides and of their weights (WeightSource::Kind::Padded).
void fill_groups(Module& module, const std::function<std::int64_t(const Node&)>& group_of);

}  // namespace dyn::graph
