#pragma once
// Affine functions of a group's axes: they tell where in a tensor an iteration of the group reads
// or writes.

#include <optional>
#include <span>
#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// The dim of an axis from 0.
inline Dim dim_at(std::span<const Dim> dims, int axis) {
  return dims[static_cast<std::size_t>(axis)];
}

struct CoordTerm {
  int axis;
  Dim factor;
  bool operator==(const CoordTerm&) const = default;
};

/// offset + sum of index(axis) * factor. Terms are sorted by axis, and none has the factor 0.
struct Coord {
  std::vector<CoordTerm> terms;
  Dim offset;
  bool operator==(const Coord&) const = default;
};

/// One Coord for each dim of a tensor.
using Coords = std::vector<Coord>;

Coord fixed_coord(Dim offset);
Coord axis_coord(DimTable& dims, int axis);
Coord operator+(const Coord& a, const Coord& b);
Coord operator+(const Coord& a, Dim offset);
Coord operator*(const Coord& a, Dim factor);

/// The axis where the coord is one axis with the factor 1, plus any offset.
std::optional<int> unit_axis(const Coord& coord);

/// coord i is axis i.
Coords identity_coords(DimTable& dims, int rank);

/// Broadcasting: the place in a tensor of dims `from` that goes with place `coords` of the
/// broadcast tensor `to`. Along a dim that may be 1 or the result's, only bind tells which: the
/// factor min(dim - 1, 1) is 0 for the one, 1 for the other.
Coords broadcast_coords(std::span<const Dim> from, std::span<const Dim> to, const Coords& coords);

/// The factor of broadcast_coords for one dim: 1, 0, or min(from - 1, 1).
Dim broadcast_factor(Dim from, Dim to);

/// The place in input `input` of a matmul that the products of a result read, where axes are those
/// of the result and then K.
Coords factor_coords(const Module& module, const Node& matmul, int input);

/// Maps `coords` of a view's result to the place in its input; nothing where no affine function
/// does.
std::optional<Coords> coords_through_view(const Module& module, const Node& view,
                                          const Coords& coords);

/// The inverse, for views that keep every element and, but for dims of 1, every axis; else nothing.
std::optional<Coords> coords_out_of_view(const Module& module, const Node& view,
                                         const Coords& coords);

/// A reshape moves elements between these axes of two shapes; axes of size 1 are in no block.
struct ReshapeBlock {
  std::vector<int> from, to;
};
/// The finest blocks that can be proved; row-major order inside a block and from block to block.
std::vector<ReshapeBlock> reshape_blocks(std::span<const Dim> from, std::span<const Dim> to);

/// Strides for axes of sizes `dims` in row-major order: one step along an axis, in elements of the
/// innermost.
std::vector<Dim> dense_strides(DimTable& table, std::span<const Dim> dims);

/// A slice's start, as a place in its input, and step along an axis of its input.
struct SliceStep {
  Dim start;
  std::int64_t step;
};
SliceStep slice_step(const Module& module, const Node& slice, int axis);

}  // namespace dyn::graph
