#include "src/import/onnx/ops/contrib/masked_attention.hpp"

#include <fmt/format.h>

namespace dyn::onnx {

Dim head_count(NodeContext& node, const char* attribute) {
  const std::int64_t heads = node.integer(attribute, 0);
  if (heads < 1) node.fail(fmt::format("{} is {}; it must be at least 1", attribute, heads));
  return node.dims().constant(heads);
}

namespace {

/// Keys before an end, or between a start and an end.
TensorExpr seen_by_ends(NodeContext& node, const MaskInputs& inputs, const AttentionOperands& of) {
  const TensorExpr ends = cast(input_expr(node, inputs.mask), DType::i64),
                   key = first_places(of).key;
  const Dim batch = of.q.dims()[0], count = ends.dims()[0];
  const auto of_samples = [&](Dim from) { return along(slice(ends, 0, from, from + batch), 0, 4); };
  const Dim zero = node.dims().constant(0);
  if (inputs.has_starts && prove_equal(count, batch * 2) == true)
    return both(less(key, of_samples(zero)), less_equal(of_samples(batch), key));
  if (prove_equal(count, batch) == false)
    node.fail_unsupported(fmt::format("a mask of {} elements for {} samples is not supported",
                                      graph::to_string(count), graph::to_string(batch)));
  return less(key, along(ends, 0, 4));
}

TensorExpr seen_by_mask(NodeContext& node, const MaskInputs& inputs, const AttentionOperands& of,
                        Dim past) {
  const int rank = node.type(inputs.mask).rank();
  if (rank == 1) return seen_by_ends(node, inputs, of);
  if (rank < 1 || rank > 4) node.fail(fmt::format("its mask has {} dims, not 1 to 4", rank));
  TensorExpr mask = input_expr(node, inputs.mask);
  if (rank == 4) {
    mask = slice(mask, 2, past, past + of.q.dims()[2]);
    mask = slice(mask, 3, node.dims().constant(0), of.k.dims()[2]);
  }
  while (mask.rank() < 4) mask = unsqueeze(mask, 1);
  return less(mask.scalar(0), mask);
}

/// Of the mask, the bias and the queries' places; nothing where there are none of them.
std::optional<TensorExpr> bias_of_masks(NodeContext& node, const MaskInputs& inputs,
                                        const AttentionOperands& of, Dim past, bool is_causal) {
  std::optional<TensorExpr> bias;
  if (node.has(inputs.mask))
    bias = bias_of_seen(seen_by_mask(node, inputs, of, past), of,
                        node.number("mask_filter_value", -10000));
  if (node.has(inputs.bias)) {
    node.require_rank(inputs.bias, 4);
    bias = both_biases(bias, input_expr(node, inputs.bias));
  }
  if (!is_causal) return bias;
  TokenPlaces at = first_places(of);
  at.query = at.query + size(node, past);
  return both_biases(bias, bias_of_seen(seen_by_place(at, {.is_causal = true}), of));
}

}  // namespace

TensorExpr masked_attention(NodeContext& node, const MaskInputs& inputs,
                            const AttentionOperands& of, Dim past, const ScoreSteps& steps) {
  const bool is_causal = node.integer("unidirectional", 0) != 0,
             ends_together =
                 is_causal && prove_equal(past, of.k.dims()[2] - of.q.dims()[2]) == true;
  return attend(of, bias_of_masks(node, inputs, of, past, is_causal && !ends_together),
                ends_together, steps);
}

namespace {

/// The sizes of queries, keys and values among all.
std::vector<Dim> projected_sizes(NodeContext& node, Dim all) {
  const auto given = node.integers("qkv_hidden_sizes");
  if (!given || given->empty()) return std::vector<Dim>(3, floordiv(all, node.dims().constant(3)));
  if (given->size() != 3)
    node.fail(fmt::format("qkv_hidden_sizes has {} elements, not 3", given->size()));
  std::vector<Dim> sizes;
  for (const std::int64_t each : *given) sizes.push_back(node.dims().constant(each));
  return sizes;
}

/// The keys (0) or values (1) of a past [2, B, H, P, D].
TensorExpr part_of_past(const TensorExpr& past, std::int64_t which) {
  const Dims dims = past.dims();
  const Dim start = past.node().dims().constant(which);
  return reshape(slice(past, 0, start, start + 1), {dims.begin() + 1, dims.end()});
}

}  // namespace

void give_projected_attention(NodeContext& node, const TensorExpr& projected,
                              const MaskInputs& inputs, std::size_t past_input) {
  if (node.integer("past_present_share_buffer", 0) != 0)
    node.fail_unsupported("a buffer that the past and the present share is not supported");
  if (node.integer("do_rotary", 0) != 0)
    node.fail_unsupported("do_rotary is not supported; a RotaryEmbedding before it is");
  const Dim heads = head_count(node, "num_heads");
  std::vector<TensorExpr> parts;
  Dim start = node.dims().constant(0);
  for (const Dim size : projected_sizes(node, projected.dims()[2])) {
    parts.push_back(split_heads(slice(projected, 2, start, start + size), heads));
    start = start + size;
  }
  TensorExpr k = parts[1], v = parts[2];
  Dim past_length = node.dims().constant(0);
  if (node.has(past_input)) {
    node.require_rank(past_input, 5);
    const TensorExpr past = input_expr(node, past_input);
    past_length = past.dims()[3];
    k = concat({part_of_past(past, 0), k}, 2);
    v = concat({part_of_past(past, 1), v}, 2);
  }
  if (node.wants(1)) node.give(concat({unsqueeze(k, 0), unsqueeze(v, 0)}, 0).id(), 1);
  const AttentionOperands of{parts[0], k, v, scale_of(parts[0], node.number("scale", 0))};
  node.give(joined_heads(masked_attention(node, inputs, of, past_length)).id());
}

}  // namespace dyn::onnx
