#include "graph/fusion/reduced_place.hpp"

#include "graph/fusion/grower.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {
namespace {

/// The input of the reduction, or the last value of those that it is a reshape of, whose dims are
/// the extents.
std::optional<ValueId> input_over(const Module& module, const std::vector<Dim>& extents,
                                  ValueId input) {
  while (!same_dims(module.value(input).type.dims, extents)) {
    const int producer = module.value(input).producer;
    if (producer < 0) return std::nullopt;
    const Node& view = module.nodes[static_cast<std::size_t>(producer)];
    if (view.op->id != OpId::Reshape) return std::nullopt;
    input = viewed(view);
  }
  return input;
}

/// The index along an axis that is these axes of the group, in row-major order; nothing where they
/// are of another kind.
std::optional<Coord> coord_over(DimTable& dims, const std::vector<Dim>& extents,
                                const std::vector<bool>& reduced, std::span<const int> axes,
                                bool is_reduced) {
  Coord coord = fixed_coord(dims.constant(0));
  for (const int axis : axes) {
    if (reduced[static_cast<std::size_t>(axis)] != is_reduced) return std::nullopt;
    coord = coord * dim_at(extents, axis) + axis_coord(dims, axis);
  }
  return coord;
}

/// The place in the reduction's input that goes with each place in the group's space.
std::optional<Coords> input_coords(const Module& module, const std::vector<Dim>& extents,
                                   const std::vector<bool>& reduced, const std::vector<Dim>& dims,
                                   const std::vector<bool>& reduced_of_input) {
  DimTable& table = *module.dims;
  if (same_dims(dims, extents)) {
    if (reduced_of_input != reduced) return std::nullopt;
    return identity_coords(table, static_cast<int>(dims.size()));
  }
  Coords coords(dims.size(), fixed_coord(table.constant(0)));
  for (const ReshapeBlock& block : reshape_blocks(dims, extents)) {
    if (block.from.size() != 1) return std::nullopt;
    const auto axis = static_cast<std::size_t>(block.from[0]);
    auto coord = coord_over(table, extents, reduced, block.to, reduced_of_input[axis]);
    if (!coord) return std::nullopt;
    coords[axis] = *std::move(coord);
  }
  return coords;
}

}  // namespace

std::vector<bool> reduced_axes(const Node& reduction, int rank) {
  const auto axes = attr_integers(reduction, "axes");
  std::vector<bool> reduced(static_cast<std::size_t>(rank), axes.empty());
  for (const std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(*normalize_axis(axis, rank))] = true;
  return reduced;
}

std::optional<ReducedPlace> reduced_place(const Module& module, const std::vector<Dim>& extents,
                                          const std::vector<bool>& reduced, const Node& reduction) {
  const ValueId input = reduction.inputs[0];
  const std::vector<Dim>& dims = module.value(input).type.dims;
  const std::optional<ValueId> read = input_over(module, extents, input);
  if (!read) return std::nullopt;
  const std::vector<bool> of_input = reduced_axes(reduction, static_cast<int>(dims.size()));
  const auto coords = input_coords(module, extents, reduced, dims, of_input);
  if (!coords) return std::nullopt;
  ReducedPlace place{*read, {}};
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (!of_input[axis]) place.result.push_back((*coords)[axis]);
    if (of_input[axis] && attr_boolean(reduction, "keepdims"))
      place.result.push_back(fixed_coord(module.dims->constant(0)));
  }
  return place;
}

}  // namespace dyn::graph
