#pragma once
// Products whose depth is no whole number of groups.

#include <functional>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// True where a target can multiply the left side in groups of so many elements: a matmul,
/// window_matmul or conv of one group whose depth consists of whole ones, or is filled up by
/// fill_groups().
bool may_have_groups(const Module& module, const Node& node, std::int64_t group);

/// Fills the depth of products up to whole groups, of as many elements as `group_of` says (0: it
/// stays as it is): with zeros behind the elements of their
/// left sides and of their weights (WeightSource::Kind::Padded), or, of a matmul of two values that
/// arrive with the call, of both. Depths of one or two elements stay: groups would not make them
/// faster.
void fill_groups(Module& module, const std::function<std::int64_t(const Node&)>& group_of);

}  // namespace dyn::graph
