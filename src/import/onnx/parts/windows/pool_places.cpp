#include "src/import/onnx/parts/windows/pool_places.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// The places on one axis of each tap of each window: [windows, taps].
TensorExpr places_on_axis(NodeContext& node, const SlidingWindows& windows, std::size_t axis,
                          Dim count) {
  const TensorExpr first =
      along(range(node, count), 0, 2) * static_cast<double>(windows.strides[axis]) -
      size(node, windows.before[axis]);
  return first + along(range(node, node.dims().constant(windows.sizes[axis])), 1, 2) *
                     static_cast<double>(windows.dilations[axis]);
}

/// Converts a place in row-major order to the order with the first axis innermost.
TensorExpr column_major(const TensorExpr& place, const std::vector<Dim>& extents) {
  NodeContext& node = place.node();
  std::optional<TensorExpr> flat;
  TensorExpr rest = place;
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    const TensorExpr extent = size(node, extents[axis]);
    const TensorExpr digit = mod(rest, extent);
    rest = rest / extent;
    flat = flat ? *flat * extent + digit : digit;
  }
  return *flat;
}

}  // namespace

void give_places(NodeContext& node, const SlidingWindows& windows, const std::vector<Dim>& extents,
                 bool row_major) {
  const TensorExpr x = input_expr(node, 0);
  const std::size_t count = extents.size();
  const bool is_number = is_float(x.dtype());
  Integers axes(count), taps(count);
  std::iota(axes.begin(), axes.end(), 2);
  std::iota(taps.begin(), taps.end(), static_cast<std::int64_t>(count) + 2);
  // [N, C, windows..., taps...]; padding is recognised by its place, not by its value.
  std::vector<graph::Attr> attrs = attrs_of(node, windows, true);
  attrs.push_back(node.integer_list("axes", axes));
  const TensorExpr elements = apply("windows", {x}, attrs);
  const Dims dims = elements.dims();
  std::optional<TensorExpr> flat, inside;
  for (std::size_t i = 0; i < count; ++i) {
    const TensorExpr place = places_on_axis(node, windows, i, dims[i + 2]),
                     extent = size(node, extents[i]);
    Dims shape(2 * count, node.dims().constant(1));
    shape[i] = place.dims()[0];
    shape[i + count] = place.dims()[1];
    const TensorExpr spread = reshape(place, shape),
                     on_axis = both(less_equal(spread.scalar(0), spread), less(spread, extent));
    flat = flat ? *flat * extent + spread : spread;
    inside = inside ? both(*inside, on_axis) : on_axis;
  }
  const double least = is_number ? -std::numeric_limits<double>::infinity()
                                 : -std::ldexp(1.0, static_cast<int>(8 * size_of(x.dtype())) - 1);
  TensorExpr is_it =
      equal(elements, reduce("reduce_max", where(*inside, elements, least), taps, true));
  if (is_number) is_it = either(is_it, apply("isnan", {elements}));
  const Dim image = product(node, extents);
  TensorExpr first =
      reduce("reduce_min", where(both(is_it, *inside), *flat, size(node, image)), taps, false);
  if (!row_major) first = column_major(first, extents);
  const TensorExpr planes = range(node, x.dims()[0] * x.dims()[1]) * size(node, image);
  Dims shape(count + 2, node.dims().constant(1));
  shape[0] = x.dims()[0];
  shape[1] = x.dims()[1];
  node.give((first + reshape(planes, shape)).id(), 1);
}

}  // namespace dyn::onnx
