// Normalisation over groups of channels, over chosen axes, and by a norm.

#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

Integers axes_from(int first, int rank) {
  Integers axes(static_cast<std::size_t>(rank - first));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

TensorExpr centered(const TensorExpr& x, const Integers& axes) {
  return x - reduce("reduce_mean", x, axes, true);
}

TensorExpr variance_of(const TensorExpr& centered, const Integers& axes) {
  return reduce("reduce_mean", centered * centered, axes, true);
}

/// [N, C, d...] over [C / groups, d...]; scale and bias have an element for each group up to opset
/// 20, and for each channel from then on.
void convert_group_norm(NodeContext& node) {
  constexpr int for_each_channel = 21;
  const TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  const std::int64_t groups = node.integer("num_groups", 0);
  if (groups < 1) node.fail("num_groups must be at least 1");
  if (x.rank() < 2) node.fail("its input needs a batch and channels");
  const bool by_channel = node.opset() >= for_each_channel;
  const Dim count = node.dims().constant(groups);
  Dims apart{dims[0], count, floordiv(dims[1], count)};
  apart.insert(apart.end(), dims.begin() + 2, dims.end());
  const int rank = static_cast<int>(apart.size());
  const TensorExpr from_mean = centered(reshape(x, apart), axes_from(2, rank));
  const TensorExpr normal =
      from_mean / sqrt(variance_of(from_mean, axes_from(2, rank)) + node.number("epsilon", 1e-5));
  if (by_channel)
    return node.give((reshape(normal, dims) * along(input_expr(node, 1), 1, x.rank()) +
                      along(input_expr(node, 2), 1, x.rank()))
                         .id());
  node.give(
      reshape(normal * along(input_expr(node, 1), 1, rank) + along(input_expr(node, 2), 1, rank),
              dims)
          .id());
}

void convert_mean_variance_norm(NodeContext& node) {
  constexpr double epsilon = 1e-9;
  const TensorExpr x = input_expr(node, 0);
  Integers axes = node.integers("axes").value_or(Integers{0, 2, 3});
  for (std::int64_t& axis : axes) axis = node.axis(axis, x.rank());
  const TensorExpr from_mean = centered(x, axes);
  node.give((from_mean / (sqrt(variance_of(from_mean, axes)) + epsilon)).id());
}

/// 0 where the norm is 0.
void convert_lp_norm(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const Integers axes{node.axis(node.integer("axis", -1), x.rank())};
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) node.fail(fmt::format("p must be 1 or 2, not {}", p));
  const TensorExpr norm = p == 1 ? reduce("reduce_sum", abs(x), axes, true)
                                 : sqrt(reduce("reduce_sum", x * x, axes, true));
  node.give((x / where(equal(norm, 0.0), 1.0, norm)).id());
}

}  // namespace

Family group_normalization_operators() {
  return {{"GroupNormalization", convert_group_norm, Halves::InF32},
          {"MeanVarianceNormalization", convert_mean_variance_norm, Halves::InF32},
          {"LpNormalization", convert_lp_norm, Halves::InF32}};
}

}  // namespace dyn::onnx
