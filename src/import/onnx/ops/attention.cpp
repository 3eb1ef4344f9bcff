// Attention: heads that may share keys, a cache of keys and values, masks by data and by place.

#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/attention.hpp"

namespace dyn::onnx {
namespace {

/// Where the inputs stand in the ONNX specification.
enum Input : std::size_t { Query, Key, Value, Mask, PastKey, PastValue, Lengths };
/// And the outputs.
enum Output : std::size_t { Result, PresentKey, PresentValue, Scores };

/// [B, S, H * D] as [B, H, S, D], which inputs of four dims have already.
TensorExpr by_heads(NodeContext& node, std::size_t input, const char* count) {
  const TensorExpr x = input_expr(node, input);
  if (x.rank() == 4) return x;
  node.require_rank(input, 3);
  const std::int64_t heads = node.integer(count, 0);
  if (heads < 1) node.fail(fmt::format("with inputs of three dims it needs {}", count));
  return split_heads(x, node.dims().constant(heads));
}

/// The keys or values with those of the past before them.
TensorExpr with_past(NodeContext& node, const TensorExpr& x, std::size_t past) {
  if (!node.has(past)) return x;
  node.require_rank(past, 4);
  return concat({input_expr(node, past), x}, 2);
}

AttentionOperands operands_of(NodeContext& node) {
  if (node.has(Lengths)) node.require_rank(Lengths, 1);
  const TensorExpr q = by_heads(node, Query, "q_num_heads");
  const TensorExpr k = with_past(node, by_heads(node, Key, "kv_num_heads"), PastKey),
                   v = with_past(node, by_heads(node, Value, "kv_num_heads"), PastValue);
  if (node.wants(PresentKey)) node.give(k.id(), PresentKey);
  if (node.wants(PresentValue)) node.give(v.id(), PresentValue);
  const Dim heads = q.dims()[1];
  const double scale = scale_of(q, node.number("scale", 0));
  return {q, repeated_heads(k, heads), repeated_heads(v, heads), scale};
}

/// 0 where the mask lets a query see a key, and `unseen` elsewhere. It may be for fewer keys than
/// there are; the others are not seen.
TensorExpr bias_of_mask(NodeContext& node, const AttentionOperands& of) {
  const TensorExpr mask = input_expr(node, Mask);
  const TensorExpr bias = mask.dtype() == DType::boolean
                              ? bias_of_seen(mask, of)
                              : maximum(cast(mask, of.q.dtype()), unseen);
  Dims dims = bias.dims();
  const Dim keys = of.k.dims()[2];
  if (dims.empty() || dims.back().constant() == 1 || prove_equal(dims.back(), keys) == true)
    return bias;
  dims.back() = keys - dims.back();
  return concat({bias, expand(of.q.scalar(unseen), dims)}, bias.rank() - 1);
}

TokenPlaces places_of(NodeContext& node, const AttentionOperands& of) {
  TokenPlaces at = first_places(of);
  if (node.has(PastKey))
    at.query = at.query + size(node, node.type(PastKey).dims[2]);
  else if (node.has(Lengths))
    at.query = at.query + along(input_expr(node, Lengths), 0, 4) - size(node, of.q.dims()[2]);
  return at;
}

Sight sight_of(NodeContext& node) {
  Sight sight{node.integer("is_causal", 0) != 0, node.integer("left_window_size", -1),
              node.integer("right_window_size", -1)};
  if (node.has(Lengths)) sight.lengths = along(input_expr(node, Lengths), 0, 4);
  return sight;
}

ScoreSteps steps_of(NodeContext& node) {
  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) node.fail(fmt::format("qk_matmul_output_mode is {}, not 0 to 3", mode));
  ScoreSteps steps{.softcap = node.number("softcap", 0), .clears = true};
  if (node.wants(Scores))
    steps.show = [&node, mode](Stage stage, const TensorExpr& scores) {
      if (mode == static_cast<std::int64_t>(stage)) node.give(scores.id(), Scores);
    };
  return steps;
}

void convert_attention(NodeContext& node) {
  if (node.has(PastKey) != node.has(PastValue)) node.fail("past_key and past_value come together");
  const ScoreSteps steps = steps_of(node);
  const AttentionOperands of = operands_of(node);
  Sight sight = sight_of(node);
  // The operator's own causal mask counts from the last key, ONNX's from the queries' first.
  const Dim before = node.has(PastKey) ? node.type(PastKey).dims[2] : node.dims().constant(0);
  const bool ends_together = sight.is_causal && !node.has(Mask) && !node.has(Lengths) &&
                             sight.left < 0 && steps.are_none() &&
                             prove_equal(before, of.k.dims()[2] - of.q.dims()[2]) == true;
  if (ends_together) sight.is_causal = false;
  std::optional<TensorExpr> bias;
  if (node.has(Mask)) bias = bias_of_mask(node, of);
  if (!sight.is_all())
    bias = both_biases(bias, bias_of_seen(seen_by_place(places_of(node, of), sight), of));
  const TensorExpr result = attend(of, bias, ends_together, steps);
  node.give((node.type(Query).rank() == 3 ? joined_heads(result) : result).id(), Result);
}

/// A cache of keys or values with new ones at each sample's place along an axis.
void convert_tensor_scatter(NodeContext& node) {
  const TensorExpr cache = input_expr(node, 0), update = input_expr(node, 1);
  const int rank = cache.rank(), axis = node.axis(node.integer("axis", -2), rank);
  const std::string mode = node.word("mode", "linear");
  node.require_rank(1, rank);
  if (node.has(2)) node.require_rank(2, 1);
  if (axis == 0) node.fail("its axis is the batch's");
  if (mode != "linear" && mode != "circular") node.fail(fmt::format("mode {} is unknown", mode));
  const auto at = static_cast<std::size_t>(axis);
  TensorExpr place = along(range(node, update.dims()[at]), axis, rank);
  if (node.has(2)) place = place + along(input_expr(node, 2), 0, rank);
  if (mode == "circular") place = mod(place, size(node, cache.dims()[at]));
  node.give(apply("scatter_elements", {cache, expand(place, update.dims()), update},
                  {node.dim("axis", axis)})
                .id());
}

}  // namespace

Family attention_operators() {
  return {{"Attention", convert_attention, Halves::InF32},
          {"TensorScatter", convert_tensor_scatter}};
}

}  // namespace dyn::onnx
