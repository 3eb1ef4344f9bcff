// Operators whose results are places: of the greatest element, and as ones among zeros.

#include <numeric>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// The place of the greatest or least element, or of a NaN; among equal ones the first or the last.
/// The axis stays, as a dim of 1.
TensorExpr place_of_extremum(const TensorExpr& x, int axis, bool greatest, bool last) {
  NodeContext& node = x.node();
  const Dim extent = x.dims()[static_cast<std::size_t>(axis)];
  TensorExpr is_it = equal(x, reduce(greatest ? "reduce_max" : "reduce_min", x, {axis}, true));
  if (is_float(x.dtype())) is_it = either(is_it, apply("isnan", {x}));
  const TensorExpr place = along(range(node, extent), axis, x.rank());
  if (last) return reduce("reduce_max", where(is_it, place, -1), {axis}, true);
  return reduce("reduce_min", where(is_it, place, size(node, extent)), {axis}, true);
}

void convert_arg(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const int axis = node.axis(node.integer("axis", 0), x.rank());
  const TensorExpr place = place_of_extremum(x, axis, node.node().op_type() == "ArgMax",
                                             node.integer("select_last_index", 0) != 0);
  if (node.integer("keepdims", 1) != 0) return node.give(place.id());
  Dims dims = place.dims();
  dims.erase(dims.begin() + axis);
  node.give(reshape(place, dims).id());
}

/// Before opset 13 all axes from `axis` on count as one.
void convert_hardmax(NodeContext& node) {
  constexpr int one_axis = 13;
  const TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  const bool flattens = node.opset() < one_axis;
  const int axis = node.axis(node.integer("axis", flattens ? 1 : -1), x.rank());
  TensorExpr flat = x;
  if (flattens) {
    Dims matrix(dims.begin(), dims.begin() + axis);
    matrix.push_back(product(node, {dims.begin() + axis, dims.end()}));
    flat = reshape(x, matrix);
  }
  const TensorExpr place =
      along(range(node, flat.dims()[static_cast<std::size_t>(axis)]), axis, flat.rank());
  const TensorExpr ones = cast(equal(place, place_of_extremum(flat, axis, true, false)), x.dtype());
  node.give((flattens ? reshape(ones, dims) : ones).id());
}

/// A scalar, or one element, that is known; numbers truncate.
Dim depth_of(NodeContext& node) {
  if (const std::optional<KnownInts> ints = node.ints(1); ints && ints->elements.size() == 1)
    return ints->elements[0];
  return node.dims().constant(graph::saturated(DType::i64, node.need_number(1, "its depth")));
}

/// An index outside of -depth .. depth - 1 means no place: all elements are `off`.
void convert_one_hot(NodeContext& node) {
  const TensorExpr given = cast(input_expr(node, 0), DType::i64), values = input_expr(node, 2);
  const Dim depth = depth_of(node), one = node.dims().constant(1), two = node.dims().constant(2);
  const int rank = given.rank() + 1, axis = node.axis(node.integer("axis", -1), rank);
  const TensorExpr index =
      unsqueeze(where(less(given, 0.0), given + size(node, depth), given), axis);
  const TensorExpr off = reshape(slice(values, 0, node.dims().constant(0), one), {}),
                   on = reshape(slice(values, 0, one, two), {});
  node.give(where(equal(index, along(range(node, depth), axis, rank)), on, off).id());
}

void convert_eye_like(NodeContext& node) {
  node.require_rank(0, 2);
  const graph::TensorType type = node.type_of(0);
  const DType dtype = node.attribute("dtype") != nullptr ? node.dtype("dtype") : type.dtype;
  const TensorExpr row = along(range(node, type.dims[0]), 0, 2),
                   column = along(range(node, type.dims[1]), 1, 2);
  node.give(cast(equal(column, row + static_cast<double>(node.integer("k", 0))), dtype).id());
}

}  // namespace

Family selection_operators() {
  return {{"ArgMax", convert_arg},
          {"ArgMin", convert_arg},
          {"Hardmax", convert_hardmax},
          {"OneHot", convert_one_hot},
          {"EyeLike", convert_eye_like}};
}

}  // namespace dyn::onnx
