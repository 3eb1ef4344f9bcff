#include "graph/ops/sliding_window.hpp"

#include <algorithm>
#include <numeric>

#include "graph/ir/op.hpp"

namespace dyn::graph {

Coord SlidingWindow::place(const Coord& index, const Coord& tap) const {
  DimTable& dims = before.table();
  return index * dims.constant(stride) + tap * dims.constant(dilation) + before * -1;
}

std::vector<SlidingWindow> windows_of(const Module& module, const Node& node,
                                      std::span<const std::int64_t> sizes) {
  const auto strides = attr_integers(node, "strides"), dilations = attr_integers(node, "dilations");
  const auto before = attr_dims(module, node, "before"), after = attr_dims(module, node, "after");
  const Dim none = module.dims->constant(0);
  std::vector<SlidingWindow> windows;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    windows.push_back({sizes[i], strides.empty() ? 1 : strides[i],
                       dilations.empty() ? 1 : dilations[i], before.empty() ? none : before[i],
                       after.empty() ? none : after[i]});
  }
  return windows;
}

std::vector<SlidingWindow> windows_of(const Module& module, const Node& node) {
  return windows_of(module, node, attr_integers(node, "sizes"));
}

bool has_groups(const Module& module, const Node& node) {
  return node.op->id == OpId::WindowMatmul && module.value(node.inputs[1]).type.rank() == 3;
}

ValueId image_input(const Module& module, const Node& elementwise) {
  ValueId image = no_value;
  for (const ValueId input : elementwise.inputs) {
    const std::vector<Dim>& dims = module.value(input).type.dims;
    const bool is_of_channels =
        dims.empty() ||
        std::all_of(dims.begin(), dims.end() - 1, [](Dim dim) { return dim.constant() == 1; });
    if (is_of_channels) continue;
    if (image != no_value) return no_value;
    image = input;
  }
  return image;
}

ValueId image_in_memory(const Module& module, const Node& windows, const std::set<int>& members) {
  ValueId image = windows.inputs[0];
  while (members.contains(module.value(image).producer)) {
    const int producer = module.value(image).producer;
    const ValueId input = image_input(module, module.nodes[static_cast<std::size_t>(producer)]);
    if (input == no_value) break;
    image = input;
  }
  return image;
}

std::vector<int> window_axes(const Module& module, const Node& node) {
  const int rank = module.value(node.inputs[0]).type.rank();
  std::vector<int> axes;
  if (node.op->id == OpId::Windows) {
    for (const std::int64_t axis : attr_integers(node, "axes"))
      axes.push_back(*normalize_axis(axis, rank));
    return axes;
  }
  axes.resize(attr_integers(node, "sizes").size());
  std::iota(axes.begin(), axes.end(),
            rank - 1 - has_groups(module, node) - static_cast<int>(axes.size()));
  return axes;
}

std::optional<Coords> coords_through_windows(const Module& module, const Node& node,
                                             const Coords& coords) {
  const std::vector<SlidingWindow> windows = windows_of(module, node);
  const std::vector<int> axes = window_axes(module, node);
  const auto taps = coords.begin() + axes.back() + 1;
  Coords place(coords.begin(), taps);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Coord &index = coords[static_cast<std::size_t>(axes[i])],
                &tap = *(taps + static_cast<std::ptrdiff_t>(i));
    for (const Coord* coord : {&index, &tap}) {
      if (std::ranges::any_of(coord->terms,
                              [](const CoordTerm& term) { return bounds(term.factor).low < 0; }))
        return std::nullopt;
    }
    place[static_cast<std::size_t>(axes[i])] = windows[i].place(index, tap);
  }
  place.insert(place.end(), taps + static_cast<std::ptrdiff_t>(axes.size()), coords.end());
  return place;
}

}  // namespace dyn::graph
