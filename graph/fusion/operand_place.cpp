// Which elements of its inputs a node reads.

#include "graph/fusion/grower.hpp"
#include "graph/ops/sliding_window.hpp"

namespace dyn::graph {
namespace {

Coords place_of_indices(const Module& module, const Node& gather, const Coords& coords) {
  const int rank = module.value(gather.inputs[0]).type.rank(),
            count = module.value(gather.inputs[1]).type.rank();
  const auto first = coords.begin() + *normalize_axis(attr_integer(gather, "axis"), rank);
  return {first, first + count};
}

/// The part's own index along the axis starts at 0, where the parts before it end. A guard is a
/// range of one axis.
std::optional<Coords> place_of_part(const Module& module, const Node& concat, int input,
                                    Coords coords) {
  const auto axis = static_cast<std::size_t>(
      *normalize_axis(attr_integer(concat, "axis"), static_cast<int>(coords.size())));
  if (!unit_axis(coords[axis])) return std::nullopt;
  for (int i = 0; i < input; ++i) {
    const Dim extent = module.value(concat.inputs[static_cast<std::size_t>(i)]).type.dims[axis];
    coords[axis] = coords[axis] + extent * -1;
  }
  return coords;
}

std::optional<Coords> place_inside_padding(const Module& module, const Node& pad, Coords coords) {
  const auto before = attr_dims(module, pad, "before"), after = attr_dims(module, pad, "after");
  for (std::size_t i = 0; i < coords.size(); ++i) {
    if (before[i].constant() == 0 && after[i].constant() == 0) continue;
    if (!unit_axis(coords[i])) return std::nullopt;
    coords[i] = coords[i] + before[i] * -1;
  }
  return coords;
}

/// The place of an element of the image that windows slide over is its channel alone, and that is
/// counted along K, which follows the axes of the result.
Coords place_of_channel(const Module& module, const Node& windows) {
  Coords place(static_cast<std::size_t>(module.value(windows.inputs[0]).type.rank()),
               fixed_coord(module.dims->constant(0)));
  place.back() = axis_coord(*module.dims, module.value(windows.outputs[0]).type.rank());
  return place;
}

}  // namespace

std::optional<Coords> operand_place(const Module& module, const Node& node, int input,
                                    const Coords& coords) {
  const TensorType& type = module.value(node.inputs[static_cast<std::size_t>(input)]).type;
  if (node.op->op_class == OpClass::Elementwise) {
    return broadcast_coords(type.dims, module.value(node.outputs[0]).type.dims, coords);
  }
  if (node.op->id == OpId::Matmul) return factor_coords(module, node, input);
  if (node.op->id == OpId::WindowMatmul && input == 0 && !has_groups(module, node))
    return place_of_channel(module, node);
  if (node.op->id == OpId::Gather) return place_of_indices(module, node, coords);
  if (node.op->id == OpId::Concat) return place_of_part(module, node, input, coords);
  if (node.op->id == OpId::Pad) return place_inside_padding(module, node, coords);
  if (node.op->id == OpId::Windows) return coords_through_windows(module, node, coords);
  return std::nullopt;
}

}  // namespace dyn::graph
