// GatherElements, GatherND, ReverseSequence.

#include "src/import/onnx/parts/places.hpp"

#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {

TensorExpr gather_at(const TensorExpr& data, const std::vector<TensorExpr>& indices) {
  NodeContext& node = data.node();
  const Dims dims = data.dims();
  const auto count = static_cast<std::ptrdiff_t>(indices.size());
  TensorExpr flat = indices.front();
  for (std::size_t i = 1; i < indices.size(); ++i) flat = flat * size(node, dims[i]) + indices[i];
  Dims shape{product(node, {dims.begin(), dims.begin() + count})};
  shape.insert(shape.end(), dims.begin() + count, dims.end());
  return gather(reshape(data, shape), flat, 0);
}

TensorExpr gather_elements(const TensorExpr& data, const TensorExpr& indices, int axis) {
  NodeContext& node = data.node();
  const int rank = data.rank();
  const Dims extents = indices.dims();
  std::vector<TensorExpr> places;
  for (int i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    places.push_back(i == axis ? checked_indices(cast(indices, DType::i64), data.dims()[at])
                               : along(range(node, extents[at]), i, rank));
  }
  return gather_at(data, places);
}

namespace {

void convert_gather_elements(NodeContext& node) {
  const TensorExpr data = input_expr(node, 0), indices = input_expr(node, 1);
  if (indices.rank() != data.rank())
    node.fail(fmt::format("its indices have {} dims, its data {}", indices.rank(), data.rank()));
  const int axis = node.axis(node.integer("axis", 0), data.rank());
  for (int i = 0; i < data.rank(); ++i) {
    const Dim extent = data.dims()[static_cast<std::size_t>(i)],
              chosen = indices.dims()[static_cast<std::size_t>(i)];
    if (i != axis && graph::prove_less(extent, chosen) == true)
      node.fail(fmt::format("dim {} of its indices is {}, but its data's is {}", i,
                            graph::to_string(chosen), graph::to_string(extent)));
  }
  node.give(gather_elements(data, indices, axis).id());
}

/// The last axis of the indices holds an index for each of data's axes after the batch.
void convert_gather_nd(NodeContext& node) {
  const TensorExpr data = input_expr(node, 0), indices = cast(input_expr(node, 1), DType::i64);
  const auto batch = node.integer("batch_dims", 0);
  const int rank = indices.rank();
  if (rank == 0) node.fail("its indices must have at least one dim");
  if (batch < 0 || batch >= rank || batch >= data.rank())
    node.fail(fmt::format("batch_dims is {}, but its indices have {} dims and its data {}", batch,
                          rank, data.rank()));
  const std::optional<std::int64_t> count = indices.dims().back().constant();
  if (!count) node.fail_unsupported("the last dim of its indices must be constant");
  if (*count < 1 || batch + *count > data.rank())
    node.fail(fmt::format(
        "the last dim of its indices is {}, but its data has {} dims, of which {} are batch_dims",
        *count, data.rank(), batch));
  std::vector<TensorExpr> places;
  for (int i = 0; i < static_cast<int>(batch); ++i)
    places.push_back(along(range(node, indices.dims()[static_cast<std::size_t>(i)]), i, rank - 1));
  for (std::int64_t i = 0; i < *count; ++i) {
    const TensorExpr part =
        slice(indices, rank - 1, node.dims().constant(i), node.dims().constant(i + 1));
    Dims dims = indices.dims();
    dims.pop_back();
    places.push_back(
        checked_indices(reshape(part, dims), data.dims()[static_cast<std::size_t>(batch + i)]));
  }
  node.give(gather_at(data, places).id());
}

/// Reverses, along the axis of time, the first elements of each sequence of the batch.
void convert_reverse_sequence(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0), lengths = cast(input_expr(node, 1), DType::i64);
  const int rank = x.rank(), batch = node.axis(node.integer("batch_axis", 1), rank),
            time = node.axis(node.integer("time_axis", 0), rank);
  if (batch == time) node.fail("batch_axis and time_axis are the same");
  Integers perm{batch, time}, back(static_cast<std::size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != batch && axis != time) perm.push_back(axis);
  }
  for (std::size_t i = 0; i < perm.size(); ++i)
    back[static_cast<std::size_t>(perm[i])] = static_cast<std::int64_t>(i);
  const TensorExpr transposed = transpose(x, perm);
  const Dim steps = transposed.dims()[1];
  const TensorExpr step = along(range(node, steps), 1, 2), length = along(lengths, 0, 2);
  const TensorExpr place = where(less(step, length), length - 1 - step, step);
  const TensorExpr element = gather_at(
      transposed, {along(range(node, transposed.dims()[0]), 0, 2), checked_indices(place, steps)});
  node.give(transpose(element, back).id());
}

}  // namespace

Family place_operators() {
  return {{"GatherElements", convert_gather_elements},
          {"GatherND", convert_gather_nd},
          {"ReverseSequence", convert_reverse_sequence}};
}

}  // namespace dyn::onnx
