// Pad and CenterCropPad: elements put around a tensor, or cut off.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// How many elements are put before and after each axis; negative: how many are cut off.
struct Pads {
  Dims before, after;
};

Pads pads_of(NodeContext& node, int rank) {
  Dims pads;
  if (node.has(1)) {
    // In ONNX Runtime's own Pad they may be a row.
    const std::optional<KnownInts> known = node.ints_of_any_rank(1);
    pads = known ? known->elements : node.need_dims(1, "pads");
  } else if (const auto given = node.integers(node.opset() == 1 ? "paddings" : "pads")) {
    for (const std::int64_t each : *given) pads.push_back(node.dims().constant(each));
  }
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.has(3)) axes = node.need_integers(3, "axes");
  if (pads.size() != 2 * axes.size())
    node.fail(fmt::format("pads has {} elements for {} axes", pads.size(), axes.size()));
  const Dim zero = node.dims().constant(0);
  Pads all{Dims(static_cast<std::size_t>(rank), zero), Dims(static_cast<std::size_t>(rank), zero)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.axis(axes[i], rank));
    all.before[axis] = pads[i];
    all.after[axis] = pads[axes.size() + i];
  }
  return all;
}

/// x without the elements that negative pads cut off; the pads are not negative afterwards.
TensorExpr cut(TensorExpr x, Pads& pads) {
  const Dims dims = x.dims();
  const Dim zero = x.node().dims().constant(0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    Dim &before = pads.before[i], &after = pads.after[i];
    if (graph::bounds(before).low >= 0 && graph::bounds(after).low >= 0) continue;
    const Dim put_before = max(before, zero), put_after = max(after, zero);
    x = slice(x, static_cast<int>(i), put_before - before, dims[i] + after - put_after);
    before = put_before;
    after = put_after;
  }
  return x;
}

TensorExpr filled(const TensorExpr& x, const Pads& pads, double element) {
  NodeContext& node = x.node();
  return apply("pad", {x},
               {node.dim_list("before", pads.before),
                node.dim_list("after", pads.after),
                {"value", element}});
}

/// The same with an element that a run gives.
TensorExpr filled(const TensorExpr& x, const Pads& pads, const TensorExpr& element) {
  NodeContext& node = x.node();
  const TensorExpr one{node, node.builder().integer(DType::boolean, 1)};
  return where(filled(expand(one, x.dims()), pads, 0.0), filled(x, pads, 0.0),
               reshape(element, {}));
}

/// The places in x from which padding takes its elements: the nearest one, the mirrored one, or the
/// one from the other end.
TensorExpr place_around(const std::string& mode, const TensorExpr& position,
                        const TensorExpr& extent) {
  if (mode == "edge") return minimum(maximum(position, 0.0), extent - 1);
  if (mode == "wrap") return mod(position, extent);
  // Where an axis has one element the period is 0, and so is the remainder.
  const TensorExpr last = extent - 1;
  return last - abs(mod(position, last * 2) - last);
}

TensorExpr surrounded(TensorExpr x, const Pads& pads, const std::string& mode) {
  NodeContext& node = x.node();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    const Dim before = pads.before[at], after = pads.after[at], extent = x.dims()[at];
    if (before.constant() == 0 && after.constant() == 0) continue;
    const TensorExpr position = range(node, before + extent + after) - size(node, before);
    x = gather(x, place_around(mode, position, size(node, extent)), axis);
  }
  return x;
}

void convert_pad(NodeContext& node) {
  const std::string mode = node.word("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap")
    node.fail(fmt::format("mode {} is unknown", mode));
  Pads pads = pads_of(node, node.type(0).rank());
  const TensorExpr x = cut(input_expr(node, 0), pads);
  if (mode != "constant") return node.give(surrounded(x, pads, mode).id());
  if (node.has(2) && node.constant(2) == nullptr)
    return node.give(filled(x, pads, input_expr(node, 2)).id());
  const double element =
      node.has(2) ? node.need_number(2, "the padding's value") : node.number("value", 0);
  node.give(filled(x, pads, element).id());
}

/// Keeps the middle of each axis, or puts the axis in the middle of zeros; where one side has one
/// more, it is the end.
void convert_center_crop_pad(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const int rank = x.rank();
  const Dims shape = node.need_dims(1, "its shape"), dims = x.dims();
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = node.integers("axes")) axes = *given;
  if (axes.size() != shape.size())
    node.fail(fmt::format("its shape has {} elements for {} axes", shape.size(), axes.size()));
  const Dim zero = node.dims().constant(0), two = node.dims().constant(2);
  Pads pads{Dims(dims.size(), zero), Dims(dims.size(), zero)};
  Dims result = dims;
  TensorExpr part = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int axis = node.axis(axes[i], rank);
    const auto at = static_cast<std::size_t>(axis);
    result[at] = shape[i];
    const Dim kept = min(dims[at], shape[i]), first = floordiv(dims[at] - kept, two),
              put = shape[i] - kept;
    pads.before[at] = floordiv(put, two);
    pads.after[at] = put - pads.before[at];
    if (!(kept == dims[at])) part = slice(part, axis, first, first + kept);
  }
  part = filled(part, pads, 0.0);
  node.give((part.dims() == result ? part : reshape(part, result)).id());
}

}  // namespace

Family padding_operators() {
  return {{"Pad", convert_pad}, {"CenterCropPad", convert_center_crop_pad}};
}

}  // namespace dyn::onnx
