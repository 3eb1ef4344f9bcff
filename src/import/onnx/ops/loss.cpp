// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.

#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/places.hpp"

namespace dyn::onnx {
namespace {

constexpr std::size_t target_input = 1, weight_input = 2;

Integers all_axes(int rank) {
  Integers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// From log-probabilities [N, C, d...] and targets [N, d...]: minus the target's log-probability,
/// times its class's weight, which is 0 for an ignored target.
void give_loss(NodeContext& node, const TensorExpr& log_probability) {
  const TensorExpr given = cast(input_expr(node, target_input), DType::i64);
  if (log_probability.rank() != given.rank() + 1)
    node.fail(fmt::format("its targets have {} dims, its input {}", given.rank(),
                          log_probability.rank()));
  TensorExpr target = given;
  std::optional<TensorExpr> ignored;
  if (node.attribute("ignore_index") != nullptr) {
    ignored = equal(given, static_cast<double>(node.integer("ignore_index", 0)));
    target = where(*ignored, 0.0, given);
  }
  const Dims dims = given.dims();
  std::optional<TensorExpr> weight;
  if (node.has(weight_input)) weight = gather(input_expr(node, weight_input), target, 0);
  if (ignored)
    weight =
        weight ? where(*ignored, 0.0, *weight) : cast(negated(*ignored), log_probability.dtype());
  TensorExpr loss = -reshape(gather_elements(log_probability, unsqueeze(target, 1), 1), dims);
  if (weight) loss = loss * *weight;
  const std::string reduction = node.word("reduction", "mean");
  const Integers axes = all_axes(loss.rank());
  if (reduction == "none") return node.give(loss.id());
  if (reduction == "sum") return node.give(reduce("reduce_sum", loss, axes, false).id());
  if (reduction != "mean") node.fail(fmt::format("reduction {} is unknown", reduction));
  if (!weight) return node.give(reduce("reduce_mean", loss, axes, false).id());
  node.give(
      (reduce("reduce_sum", loss, axes, false) / reduce("reduce_sum", *weight, axes, false)).id());
}

void convert_negative_log_likelihood(NodeContext& node) { give_loss(node, input_expr(node, 0)); }

void convert_softmax_cross_entropy(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  if (x.rank() < 2) node.fail("its input needs a batch and classes");
  const TensorExpr shifted = x - reduce("reduce_max", x, {1}, true);
  const TensorExpr log_probability = shifted - log(reduce("reduce_sum", exp(shifted), {1}, true));
  give_loss(node, log_probability);
  node.give(log_probability.id(), 1);
}

}  // namespace

Family loss_operators() {
  return {{"NegativeLogLikelihoodLoss", convert_negative_log_likelihood, Halves::InF32},
          {"SoftmaxCrossEntropyLoss", convert_softmax_cross_entropy, Halves::InF32}};
}

}  // namespace dyn::onnx
