// reduce_sum, _mean, _max, _min, _prod over any axes.

#include <algorithm>
#include <limits>

#include "graph/ir/scalars.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

std::vector<bool> reduced_axes(const OpCall& call, std::size_t rank) {
  const auto axes = call.integers("axes");
  std::vector<bool> reduced(rank, axes.empty());
  for (const auto axis : axes) reduced[call.normal_axis(axis, rank)] = true;
  return reduced;
}

/// The result's dims with every reduced axis kept as 1, then dropped where the node says so.
struct ReducedShape {
  Dims kept, final;
  std::int64_t count = 1;  ///< how many elements go into one result
};

ReducedShape reduce_shape(const OpCall& call) {
  ReducedShape shape;
  const Dims& dims = call.input(0).dims;
  const auto reduced = reduced_axes(call, dims.size());
  const bool keep = call.boolean("keepdims");
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    shape.kept.push_back(reduced[axis] ? 1 : dims[axis]);
    if (reduced[axis]) shape.count *= dims[axis];
    if (keep || !reduced[axis]) shape.final.push_back(shape.kept.back());
  }
  return shape;
}

void accumulate(const Dims& from, const Dims& to, const auto& values, auto& totals, auto start,
                auto f) {
  std::fill(totals.begin(), totals.end(), start);
  std::size_t next = 0;
  for_each_index<1>(from, {broadcast_strides(to, from)}, [&](const auto& at) {
    auto& total = totals[static_cast<std::size_t>(at[0])];
    total = f(total, values[next++]);
  });
}

/// Folds with `step` from `start`, integers from `integer_start`.
Array reduce(const OpCall& call, const ReducedShape& shape, graph::ScalarOp step, double start,
             std::int64_t integer_start) {
  const graph::ScalarOpInfo& op = graph::info_of(step);
  const Array& x = call.input(0);
  Array result = make_array(x.dtype, shape.final);
  if (is_float(x.dtype)) {
    accumulate(x.dims, shape.kept, x.floats, result.floats, start, op.number);
  } else {
    accumulate(x.dims, shape.kept, x.integers, result.integers, integer_start,
               [&](std::int64_t a, std::int64_t b) { return op.integer(x.dtype, a, b); });
  }
  return result;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<Array> sum(const OpCall& call) {
  return {reduce(call, reduce_shape(call), graph::ScalarOp::Add, 0, 0)};
}

std::vector<Array> mean(const OpCall& call) {
  const auto shape = reduce_shape(call);
  Array result = reduce(call, shape, graph::ScalarOp::Add, 0, 0);
  for (auto& value : result.floats) value /= static_cast<double>(shape.count);
  return {result};
}

std::vector<Array> prod(const OpCall& call) {
  return {reduce(call, reduce_shape(call), graph::ScalarOp::Mul, 1, 1)};
}

std::vector<Array> max(const OpCall& call) {
  return {reduce(call, reduce_shape(call), graph::ScalarOp::Max, -infinity,
                 graph::least(call.input(0).dtype))};
}

std::vector<Array> min(const OpCall& call) {
  return {reduce(call, reduce_shape(call), graph::ScalarOp::Min, infinity,
                 graph::greatest(call.input(0).dtype))};
}

constexpr OpEntry reduction_entries[] = {{graph::OpId::ReduceSum, sum},
                                         {graph::OpId::ReduceMean, mean},
                                         {graph::OpId::ReduceProd, prod},
                                         {graph::OpId::ReduceMax, max},
                                         {graph::OpId::ReduceMin, min}};

}  // namespace

std::span<const OpEntry> reduction_ops() { return reduction_entries; }

}  // namespace dyn::reference
