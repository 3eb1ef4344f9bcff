#pragma once
// Windows that slide over axes of a tensor: windows, window_matmul, conv and pools share them.

#include <optional>
#include <set>
#include <span>
#include <vector>

#include "graph/ir/coord.hpp"

namespace dyn::graph {

/// A window along one axis: window i has `size` elements, `dilation` apart, the first at i * stride
/// - before. Elements outside of the axis are padding.
struct SlidingWindow {
  std::int64_t size = 1, stride = 1, dilation = 1;
  Dim before, after;

  /// The place in the axis of element `tap` of window `index`.
  Coord place(const Coord& index, const Coord& tap) const;
  bool is_padded() const { return before.constant() != 0 || after.constant() != 0; }
  /// Each window is the element of its index.
  bool is_identity() const { return size == 1 && stride == 1 && !is_padded(); }
};

/// The windows of a node with the attributes sizes (or `sizes` as given), strides, dilations,
/// before and after.
std::vector<SlidingWindow> windows_of(const Module& module, const Node& node);
std::vector<SlidingWindow> windows_of(const Module& module, const Node& node,
                                      std::span<const std::int64_t> sizes);

/// The axes of x over which the windows of a node slide, ascending: `windows` names them, other
/// operators have the last ones before the channels.
std::vector<int> window_axes(const Module& module, const Node& node);

/// Maps `coords` of the result of `windows` to the place in x. Gives nothing where an index counts
/// backwards, since a guard is a range of a sum whose factors are not negative.
std::optional<Coords> coords_through_windows(const Module& module, const Node& node,
                                             const Coords& coords);

/// True for a window_matmul whose channels stand in groups, each with a matrix of its own.
bool has_groups(const Module& module, const Node& node);

/// The one input of an element-wise node that may vary along other axes than the channels, which
/// are the last; no_value: there is none, or more than one.
ValueId image_input(const Module& module, const Node& elementwise);

/// The image that the windows of a window_matmul slide over, or, where nodes among `members`
/// compute its elements, that from which they do.
ValueId image_in_memory(const Module& module, const Node& windows, const std::set<int>& members);

}  // namespace dyn::graph
