// Normalisation over groups of channels, over chosen axes, and by a norm.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/norms.hpp"

namespace dyn::onnx {
namespace {

/// [N, C, d...] over [C / groups, d...]; scale and bias have an element for each group up to opset
/// 20, and for each channel from then on.
void convert_group_norm(NodeContext& node) {
  constexpr int for_each_channel = 21;
  const TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  const TensorExpr normal = group_normalized(x, node.integer("num_groups", 0),
                                             node.number("epsilon", 1e-5), Channels::First);
  const bool by_channel = node.opset() >= for_each_channel;
  const TensorExpr by = by_channel ? reshape(normal, dims) : normal;
  const TensorExpr result =
      by * along(input_expr(node, 1), 1, by.rank()) + along(input_expr(node, 2), 1, by.rank());
  node.give((by_channel ? result : reshape(result, dims)).id());
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
