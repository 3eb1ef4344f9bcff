#include "graph/ir/coord.hpp"

#include "dyn/error.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

Coord fixed_coord(Dim offset) { return {{}, offset}; }

Coord axis_coord(DimTable& dims, int axis) {
  return {{{axis, dims.constant(1)}}, dims.constant(0)};
}

Coord operator+(const Coord& a, const Coord& b) {
  Coord sum{{}, a.offset + b.offset};
  auto left = a.terms.begin(), right = b.terms.begin();
  while (left != a.terms.end() || right != b.terms.end()) {
    if (right == b.terms.end() || (left != a.terms.end() && left->axis < right->axis)) {
      sum.terms.push_back(*left++);
    } else if (left == a.terms.end() || right->axis < left->axis) {
      sum.terms.push_back(*right++);
    } else {
      const Dim factor = left->factor + right->factor;
      if (factor.constant() != 0) sum.terms.push_back({left->axis, factor});
      ++left, ++right;
    }
  }
  return sum;
}

Coord operator+(const Coord& a, Dim offset) { return {a.terms, a.offset + offset}; }

Coord operator*(const Coord& a, Dim factor) {
  Coord product{{}, a.offset * factor};
  if (factor.constant() == 0) return product;
  for (const CoordTerm& term : a.terms) product.terms.push_back({term.axis, term.factor * factor});
  return product;
}

std::optional<int> unit_axis(const Coord& coord) {
  if (coord.terms.size() != 1 || coord.terms[0].factor.constant() != 1) return std::nullopt;
  return coord.terms[0].axis;
}

Coords identity_coords(DimTable& dims, int rank) {
  Coords coords;
  for (int axis = 0; axis < rank; ++axis) coords.push_back(axis_coord(dims, axis));
  return coords;
}

Dim broadcast_factor(Dim from, Dim to) {
  DimTable& table = from.table();
  if (from.constant() == 1) return table.constant(0);
  if (prove_equal(from, to) == true || bounds(from).low > 1) return table.constant(1);
  return min(from - 1, table.constant(1));
}

Coords broadcast_coords(std::span<const Dim> from, std::span<const Dim> to, const Coords& coords) {
  Coords result;
  const std::size_t skip = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    result.push_back(coords[skip + i] * broadcast_factor(from[i], to[skip + i]));
  return result;
}

namespace {

std::vector<int> axes_beyond_one(std::span<const Dim> dims) {
  std::vector<int> axes;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].constant() != 1) axes.push_back(static_cast<int>(i));
  }
  return axes;
}

/// Finds how many of the first axes of `a` and `b` hold the same number of elements, as few as
/// possible; (0, 0): unknown.
std::pair<std::size_t, std::size_t> equal_prefix(std::span<const Dim> a_dims,
                                                 std::span<const int> a,
                                                 std::span<const Dim> b_dims,
                                                 std::span<const int> b) {
  for (std::size_t total = 2; total <= a.size() + b.size(); ++total) {
    for (std::size_t i = 1; i < total; ++i) {
      const std::size_t k = total - i;
      if (i > a.size() || k > b.size()) continue;
      Dim left = dim_at(a_dims, a[0]), right = dim_at(b_dims, b[0]);
      for (std::size_t x = 1; x < i; ++x) left = left * dim_at(a_dims, a[x]);
      for (std::size_t x = 1; x < k; ++x) right = right * dim_at(b_dims, b[x]);
      if (prove_equal(left, right) == true) return {i, k};
    }
  }
  return {0, 0};
}

Coords coords_through_reshape(std::span<const Dim> from, std::span<const Dim> to,
                              const Coords& coords, bool& affine) {
  DimTable& table = coords.empty() ? from[0].table() : coords[0].offset.table();
  Coords result(from.size(), fixed_coord(table.constant(0)));
  for (const ReshapeBlock& block : reshape_blocks(from, to)) {
    if (block.from.empty()) continue;
    if (block.from.size() > 1 && !block.to.empty()) {
      affine = false;
      continue;
    }
    Coord linear = fixed_coord(table.constant(0));
    for (const int axis : block.to)
      linear = linear * dim_at(to, axis) + coords[static_cast<std::size_t>(axis)];
    result[static_cast<std::size_t>(block.from[0])] = linear;
  }
  return result;
}

Coords coords_through_transpose(const Node& node, const Coords& coords) {
  Coords result(coords.size());
  const auto perm = attr_integers(node, "perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    result[static_cast<std::size_t>(*normalize_axis(perm[i], static_cast<int>(perm.size())))] =
        coords[i];
  }
  return result;
}

Coords coords_through_slice(const Module& module, const Node& node, Coords coords) {
  for (std::size_t i = 0; i < coords.size(); ++i) {
    const SliceStep slice = slice_step(module, node, static_cast<int>(i));
    coords[i] = coords[i] * module.dims->constant(slice.step) + slice.start;
  }
  return coords;
}

}  // namespace

std::vector<ReshapeBlock> reshape_blocks(std::span<const Dim> from, std::span<const Dim> to) {
  const std::vector<int> from_axes = axes_beyond_one(from), to_axes = axes_beyond_one(to);
  std::span<const int> a = from_axes, b = to_axes;
  std::vector<ReshapeBlock> blocks;
  while (!a.empty() || !b.empty()) {
    auto [i, k] = equal_prefix(from, a, to, b);
    // Without proof the rest is one block: the prefixes match, so the rest matches too.
    if (i == 0) i = a.size(), k = b.size();
    blocks.push_back({{a.begin(), a.begin() + static_cast<std::ptrdiff_t>(i)},
                      {b.begin(), b.begin() + static_cast<std::ptrdiff_t>(k)}});
    a = a.subspan(i);
    b = b.subspan(k);
  }
  return blocks;
}

std::vector<Dim> dense_strides(DimTable& table, std::span<const Dim> dims) {
  std::vector<Dim> strides(dims.size());
  Dim stride = table.constant(1);
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * dims[i];
  }
  return strides;
}

SliceStep slice_step(const Module& module, const Node& slice, int axis) {
  DimTable& table = *module.dims;
  const auto& dims = module.value(slice.inputs[0]).type.dims;
  const Dim extent = dim_at(dims, axis);
  const auto axes = attr_integers(slice, "axes"), steps = attr_integers(slice, "steps");
  const auto starts = attr_dims(module, slice, "starts");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (*normalize_axis(axes[i], static_cast<int>(dims.size())) != axis) continue;
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    if (starts.empty()) return {step < 0 ? extent - 1 : table.constant(0), step};
    const bool from_end = starts[i].constant().value_or(0) < 0;
    return {from_end ? extent + starts[i] : starts[i], step};
  }
  return {table.constant(0), 1};
}

Coords factor_coords(const Module& module, const Node& matmul, int input) {
  const auto& dims = module.value(matmul.inputs[static_cast<std::size_t>(input)]).type.dims;
  const auto& result = module.value(matmul.outputs[0]).type.dims;
  const std::size_t batch = dims.size() - 2, skip = result.size() - dims.size();
  const auto k = static_cast<int>(result.size()), n = k - 1, m = k - 2;
  Coords coords;
  for (std::size_t i = 0; i < batch; ++i)
    coords.push_back(axis_coord(*module.dims, static_cast<int>(skip + i)) *
                     broadcast_factor(dims[i], result[skip + i]));
  const bool turned = attr_boolean(matmul, input == 0 ? "transpose_a" : "transpose_b");
  const int row = input == 0 ? m : k, column = input == 0 ? k : n;
  coords.push_back(axis_coord(*module.dims, turned ? column : row));
  coords.push_back(axis_coord(*module.dims, turned ? row : column));
  return coords;
}

std::optional<Coords> coords_through_view(const Module& module, const Node& view,
                                          const Coords& coords) {
  if (view.op->id == OpId::Append)
    return std::nullopt;  // Earlier runs wrote most of a state's elements.
  const auto& from = module.value(view.inputs[0]).type.dims;
  const auto& to = module.value(view.outputs[0]).type.dims;
  const OpId id = view.op->id;
  if (id == OpId::Transpose) return coords_through_transpose(view, coords);
  if (id == OpId::Slice) return coords_through_slice(module, view, coords);
  if (id == OpId::Expand) return broadcast_coords(from, to, coords);
  if (id != OpId::Reshape)
    throw Error(ErrorKind::internal, "coords_through_view: no view: " + view.op->name);
  if (from.empty()) return Coords{};
  bool affine = true;
  Coords result = coords_through_reshape(from, to, coords, affine);
  if (!affine) return std::nullopt;
  return result;
}

std::optional<Coords> coords_out_of_view(const Module& module, const Node& view,
                                         const Coords& coords) {
  if (view.op->id == OpId::Transpose) {
    Coords result;
    for (const std::int64_t axis : attr_integers(view, "perm")) {
      result.push_back(
          coords[static_cast<std::size_t>(*normalize_axis(axis, static_cast<int>(coords.size())))]);
    }
    return result;
  }
  if (view.op->id != OpId::Reshape) return std::nullopt;
  const auto& to = module.value(view.outputs[0]).type.dims;
  Coords result(to.size(), fixed_coord(module.dims->constant(0)));
  for (const ReshapeBlock& block : reshape_blocks(module.value(view.inputs[0]).type.dims, to)) {
    if (block.from.size() != 1 || block.to.size() != 1) return std::nullopt;
    result[static_cast<std::size_t>(block.to[0])] = coords[static_cast<std::size_t>(block.from[0])];
  }
  return result;
}

}  // namespace dyn::graph
