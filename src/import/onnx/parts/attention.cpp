#include "src/import/onnx/parts/attention.hpp"

#include <cmath>
#include <limits>

namespace dyn::onnx {

TensorExpr split_heads(const TensorExpr& x, Dim heads) {
  const Dims dims = x.dims();
  return transpose(reshape(x, {dims[0], dims[1], heads, floordiv(dims[2], heads)}), {0, 2, 1, 3});
}

TensorExpr joined_heads(const TensorExpr& x) {
  const Dims dims = x.dims();
  return reshape(transpose(x, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
}

TensorExpr repeated_heads(const TensorExpr& x, Dim heads) {
  const Dims dims = x.dims();
  if (prove_equal(dims[1], heads) == true) return x;
  return reshape(
      expand(unsqueeze(x, 2), {dims[0], dims[1], floordiv(heads, dims[1]), dims[2], dims[3]}),
      {dims[0], heads, dims[2], dims[3]});
}

double scale_of(const TensorExpr& q, double given) {
  if (given != 0) return given;
  const std::optional<std::int64_t> size = q.dims().back().constant();
  if (!size) q.node().fail_unsupported("without a scale the size of a head must be known");
  return 1 / std::sqrt(static_cast<double>(*size));
}

TokenPlaces first_places(const AttentionOperands& of) {
  NodeContext& node = of.q.node();
  return {along(range(node, of.q.dims()[2]), 0, 2), along(range(node, of.k.dims()[2]), 1, 2)};
}

TensorExpr seen_by_place(const TokenPlaces& at, const Sight& sight) {
  std::optional<TensorExpr> seen;
  const auto require = [&](const TensorExpr& condition) {
    seen = seen ? both(*seen, condition) : condition;
  };
  if (sight.is_causal) require(less_equal(at.key, at.query));
  if (sight.left >= 0) require(less_equal(at.query - static_cast<double>(sight.left), at.key));
  if (sight.right >= 0) require(less_equal(at.key, at.query + static_cast<double>(sight.right)));
  if (sight.lengths) require(less(at.key, *sight.lengths));
  return *seen;
}

TensorExpr bias_of_seen(const TensorExpr& seen, const AttentionOperands& of, double hidden) {
  return where(seen, of.q.scalar(0), hidden);
}

std::optional<TensorExpr> both_biases(const std::optional<TensorExpr>& a,
                                      const std::optional<TensorExpr>& b) {
  if (!a || !b) return a ? a : b;
  return *a + *b;
}

namespace {

TensorExpr cleared(const TensorExpr& rows, const std::optional<TensorExpr>& bias,
                   const ScoreSteps& steps) {
  if (!bias || !steps.clears) return rows;
  const TensorExpr any =
      less(rows.scalar(unseen / 2), reduce("reduce_max", *bias, {bias->rank() - 1}, true));
  return rows * cast(any, rows.dtype());
}

/// The softmax of the scores, in which a sink takes its share.
TensorExpr weights_of(const TensorExpr& scores, const std::optional<TensorExpr>& sink) {
  NodeContext& node = scores.node();
  const auto softmax = [&](const TensorExpr& x) {
    return apply("softmax", {x}, {node.dim("axis", -1)});
  };
  if (!sink) return softmax(scores);
  Dims column = scores.dims();
  const Dim keys = column.back();
  column.back() = node.dims().constant(1);
  const TensorExpr with_sink = softmax(concat({scores, expand(*sink, column)}, 3));
  return slice(with_sink, 3, node.dims().constant(0), keys);
}

/// Step by step, for what the operator `attention` has no place for.
TensorExpr attend_in_steps(const AttentionOperands& of, const std::optional<TensorExpr>& bias,
                           const ScoreSteps& steps) {
  const auto show = [&](Stage stage, const TensorExpr& scores) {
    if (steps.show) steps.show(stage, scores);
  };
  TensorExpr scores = matmul(of.q, transpose(of.k, {0, 1, 3, 2})) * of.scale;
  show(Stage::Products, scores);
  if (steps.softcap > 0) scores = apply("tanh", {scores / steps.softcap}) * steps.softcap;
  show(Stage::Capped, scores);
  if (bias) scores = scores + *bias;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (steps.show)
    show(Stage::Biased, bias ? where(less(scores, unseen / 2), -infinity, scores) : scores);
  const TensorExpr weights = cleared(weights_of(scores, steps.sink), bias, steps);
  show(Stage::Weights, weights);
  return matmul(weights, of.v);
}

}  // namespace

TensorExpr attend(const AttentionOperands& of, const std::optional<TensorExpr>& bias,
                  bool ends_together, const ScoreSteps& steps) {
  std::optional<TensorExpr> added = bias;
  if (!steps.are_none() || of.q.dtype() != DType::f32) {
    if (ends_together) {
      TokenPlaces at = first_places(of);
      at.query = at.query + size(of.q.node(), of.k.dims()[2] - of.q.dims()[2]);
      added = both_biases(bias, bias_of_seen(seen_by_place(at, {.is_causal = true}), of));
    }
    return attend_in_steps(of, added, steps);
  }
  std::vector<TensorExpr> arguments{of.q, of.k, of.v};
  if (bias) arguments.push_back(*bias);
  return cleared(apply("attention", arguments, {{"scale", of.scale}, {"causal", ends_together}}),
                 bias, steps);
}

}  // namespace dyn::onnx
