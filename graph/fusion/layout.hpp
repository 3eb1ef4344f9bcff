#pragma once
// Where values lie in memory: storage orders of what groups write, views on them, and copies where
// no view will do.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/fusion/fusion_graph.hpp"

namespace dyn::graph {

/// The memory of the view's result, given that of its input; nothing where no strides reach it.
std::optional<View> view_through(const Module& module, const Node& view, const View& input);

/// The inverse: the memory of the view's input, given that of its result; nothing where no strides
/// reach it, and for views that leave elements out or repeat them.
std::optional<View> view_before(const Module& module, const Node& view, const View& result);

/// Where the element of what `append` appends lies in the result, by the former's axes.
Coords appended_coords(const Module& module, const Node& append);

/// The memory for `root`, of which the append's operand is a view, in which it is appended already.
/// Nothing where no strides reach it, where they scatter the innermost axis, or where the graph
/// returns the value.
std::optional<View> view_in_state(const FusionGraph& graph, ValueId root, const Node& append);

/// True where a kernel computes the part of a concatenation, for that one reader, outside of a
/// state.
bool computed_for_one(const FusionGraph& graph, ValueId part);

/// For each part of a concatenation that lies as `whole` says the memory for its root in which the
/// part is in its place already. Empty where strides do not reach that for all of them, as above.
std::vector<View> views_in_concat(const FusionGraph& graph, const Node& concat, const View& whole);

/// Whether elements in row-major order of `dims` lie one after the other, from the start of the
/// buffer.
bool is_dense(const View& view, std::span<const Dim> dims);

/// The value in a buffer of its own, the axes from outermost to innermost in the order `order`.
View stored_view(const Module& module, ValueId id, std::span<const int> order);

/// The order in which the axes of `root` are best stored, so that few of `views` (which read it, in
/// order) and of the graph's outputs among their results need a copy. The innermost axis stays.
std::vector<int> choose_storage(const FusionGraph& graph, ValueId root, std::span<const int> views);

/// Finds the views of everything that the groups read and the graph gives, adding Copy groups (not
/// yet named) to `fusion` and, where an output needs memory of its own, a reshape to `module`.
void lay_out(Module& module, const FusionGraph& graph, Fusion& fusion, const FuseOptions& options);

}  // namespace dyn::graph
