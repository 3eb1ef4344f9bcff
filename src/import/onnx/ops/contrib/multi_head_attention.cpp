// ONNX Runtime's MultiHeadAttention and Attention, which transformers become in its optimiser.

#include "src/import/onnx/ops/contrib/masked_attention.hpp"
#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

/// Where the inputs of MultiHeadAttention stand.
enum HeadInput : std::size_t {
  Queries,
  Keys,
  Values,
  HeadBias,
  KeyMask,
  ScoreBias,
  PastKeys,
  PastValues,
  PastLength,
  CacheIndirection
};
/// And the outputs.
enum HeadOutput : std::size_t { Attended, PresentKeys, PresentValues, HeadScores };

/// Tensor `which` of those that a packed one [B, S, H, count, D] holds, as [B, H, S, D].
TensorExpr unpacked(const TensorExpr& packed, std::int64_t which) {
  const Dims dims = packed.dims();
  const Dim first = packed.node().dims().constant(which);
  return transpose(
      reshape(slice(packed, 3, first, first + 1), {dims[0], dims[1], dims[2], dims[4]}),
      {0, 2, 1, 3});
}

/// Queries, keys and values by heads, without their bias.
struct HeadTensors {
  TensorExpr q, k, v;
  bool from_cache = false;  ///< keys and values have had their bias
};

HeadTensors head_tensors(NodeContext& node) {
  const Dim heads = head_count(node, "num_heads");
  const TensorExpr queries = input_expr(node, Queries);
  if (queries.rank() == 5)
    return {unpacked(queries, 0), unpacked(queries, 1), unpacked(queries, 2)};
  node.require_rank(Queries, 3);
  const TensorExpr q = split_heads(queries, heads), keys = input_expr(node, Keys);
  if (keys.rank() == 5) return {q, unpacked(keys, 0), unpacked(keys, 1)};
  const bool from_cache = keys.rank() == 4;
  node.require_rank(Keys, from_cache ? 4 : 3);
  node.require_rank(Values, from_cache ? 4 : 3);
  const TensorExpr values = input_expr(node, Values);
  if (from_cache) return {q, keys, values, true};
  return {q, split_heads(keys, heads), split_heads(values, heads)};
}

/// The part of the bias that begins at `start`, for the heads of x.
TensorExpr with_bias(const TensorExpr& x, const TensorExpr& bias, Dim start) {
  const Dims dims = x.dims();
  const TensorExpr part = slice(bias, 0, start, start + dims[1] * dims[3]);
  return x + reshape(part, {dims[1], x.node().dims().constant(1), dims[3]});
}

void add_bias(NodeContext& node, HeadTensors& of) {
  if (!node.has(HeadBias)) return;
  node.require_rank(HeadBias, 1);
  const TensorExpr bias = input_expr(node, HeadBias);
  const Dim hidden = of.q.dims()[1] * of.q.dims()[3];
  of.q = with_bias(of.q, bias, node.dims().constant(0));
  if (of.from_cache) return;
  of.k = with_bias(of.k, bias, hidden);
  of.v = with_bias(of.v, bias, hidden * 2);
}

/// Puts the past before keys and values, and gives its length.
Dim add_past(NodeContext& node, HeadTensors& of) {
  if (node.has(PastLength) || node.has(CacheIndirection))
    node.fail_unsupported("buffers that the past and the present share are not supported");
  if (node.has(PastKeys) != node.has(PastValues))
    node.fail("past_key and past_value come together");
  if (!node.has(PastKeys)) return node.dims().constant(0);
  node.require_rank(PastKeys, 4);
  node.require_rank(PastValues, 4);
  of.k = concat({input_expr(node, PastKeys), of.k}, 2);
  of.v = concat({input_expr(node, PastValues), of.v}, 2);
  return node.type(PastKeys).dims[2];
}

void convert_multi_head_attention(NodeContext& node) {
  HeadTensors heads = head_tensors(node);
  add_bias(node, heads);
  const Dim past = add_past(node, heads);
  node.give(heads.k.id(), PresentKeys);
  node.give(heads.v.id(), PresentValues);
  ScoreSteps steps;
  if (node.wants(HeadScores))
    steps.show = [&node](Stage stage, const TensorExpr& scores) {
      if (stage == Stage::Biased) node.give(scores.id(), HeadScores);
    };
  const AttentionOperands of{heads.q, heads.k, heads.v, scale_of(heads.q, node.number("scale", 0))};
  const TensorExpr result = masked_attention(node, {KeyMask, ScoreBias}, of, past, steps);
  node.give(joined_heads(result).id(), Attended);
}

/// Where the inputs of Attention stand.
enum ProjectionInput : std::size_t { X, Weights, WeightBias, Mask, Past, AddedBias, SharedLength };

void convert_projecting_attention(NodeContext& node) {
  if (node.has(SharedLength))
    node.fail_unsupported("a buffer that the past and the present share is not supported");
  node.require_rank(X, 3);
  node.require_rank(Weights, 2);
  const TensorExpr x = input_expr(node, X), weights = input_expr(node, Weights);
  TensorExpr projected = matmul(x, weights);
  if (node.has(WeightBias)) {
    node.require_rank(WeightBias, 1);
    projected = projected + input_expr(node, WeightBias);
  }
  give_projected_attention(node, projected, {Mask, AddedBias, true}, Past);
}

}  // namespace

Family head_attention_operators() {
  return {{"MultiHeadAttention", convert_multi_head_attention, Halves::InF32},
          {"Attention", convert_projecting_attention, Halves::InF32}};
}

}  // namespace dyn::onnx
