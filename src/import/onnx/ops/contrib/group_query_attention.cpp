// GroupQueryAttention with its cache of keys and values, and RotaryEmbedding: what decoders of
// large language models are exported with.

#include <fmt/format.h>

#include "src/import/onnx/ops/contrib/masked_attention.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/rotary.hpp"

namespace dyn::onnx {
namespace {

/// The cosines or sines in the input, [places, pairs], at these places: [.., tokens, pairs].
TensorExpr turns_at(NodeContext& node, std::size_t input, const TensorExpr& places) {
  node.require_rank(input, 2);
  return gather(input_expr(node, input), places, 0);
}

/// Heads [B, H, S, D] turned by their tokens' places, [B, S] or [S].
TensorExpr turned_heads(NodeContext& node, const TensorExpr& heads, const TensorExpr& places,
                        std::size_t cosines, Dim part, bool interleaved) {
  TensorExpr cosine = turns_at(node, cosines, places), sine = turns_at(node, cosines + 1, places);
  if (places.rank() == 2) {
    cosine = unsqueeze(cosine, 1);
    sine = unsqueeze(sine, 1);
  }
  return rotated(heads, {cosine, sine, part, interleaved});
}

void convert_placed_rotary(NodeContext& node) {
  constexpr std::size_t positions = 1, cosines = 2;
  const TensorExpr x = input_expr(node, 0);
  const bool is_flat = x.rank() == 3;
  if (!is_flat) node.require_rank(0, 4);
  if (node.integer("is_packed_batching", 0) != 0)
    node.fail_unsupported("packed batches are not supported");
  node.require_rank(cosines, 2);
  const std::int64_t turned = node.integer("rotary_embedding_dim", 0);
  const Dim part = turned > 0 ? node.dims().constant(turned) : node.type(cosines).dims[1] * 2;
  const Dim heads = !is_flat     ? x.dims()[1]
                    : turned > 0 ? head_count(node, "num_heads")
                                 : floordiv(x.dims()[2], part);
  const TensorExpr by_head = is_flat ? split_heads(x, heads) : x;
  TensorExpr places = input_expr(node, positions);
  if (places.rank() == 1)
    places = range(node, by_head.dims()[2]) + cast(reshape(places, {}), DType::i64);
  else
    node.require_rank(positions, 2);
  const TensorExpr result =
      turned_heads(node, by_head, places, cosines, part, node.integer("interleaved", 0) != 0);
  node.give((is_flat ? joined_heads(result) : result).id());
}

/// Where the inputs of GroupQueryAttention stand.
enum GroupInput : std::size_t {
  GroupQueries,
  GroupKeys,
  GroupValues,
  CachedKeys,
  CachedValues,
  LastPlaces,
  TotalLength,
  Cosines,
  Sines,
  PositionIds,
  GroupBias,
  HeadSink,
  KeyScale,
  ValueScale,
  QueryNorm,
  KeyNorm,
  QueryLengths
};
/// And the outputs.
enum GroupOutput : std::size_t { GroupResult, NewKeys, NewValues, GroupScores };

/// What an attention of groups goes through.
class GroupQueryAttention {
 public:
  explicit GroupQueryAttention(NodeContext& node)
      : node_(node),
        heads_(head_count(node, "num_heads")),
        key_heads_(head_count(node, "kv_num_heads")),
        q_(input_expr(node, GroupQueries)),
        k_(q_),
        v_(q_),
        last_(q_),
        before_(q_) {
    refuse_what_is_not_supported();
    if (*heads_.constant() % *key_heads_.constant() != 0)
      node.fail(fmt::format("{} heads of queries cannot share {} of keys", *heads_.constant(),
                            *key_heads_.constant()));
    node.require_rank(GroupQueries, 3);
    node.require_rank(LastPlaces, 1);
    take_apart();
    // The places of each sample's last token and of its first new one, [B, 1]. A shorter sample has
    // padding behind it, at places that no valid query sees.
    last_ = unsqueeze(cast(input_expr(node, LastPlaces), DType::i64), 1);
    before_ = maximum(last_ + 1.0 - size(node, new_tokens()), 0.0);
  }

  void convert() {
    if (node_.integer("do_rotary", 0) != 0) turn();
    const bool has_past = node_.has(CachedKeys);
    if (has_past != node_.has(CachedValues)) node_.fail("past_key and past_value come together");
    Dim keys = k_.dims()[2];
    if (has_past) {
      keys = total_length();
      k_ = appended(k_, CachedKeys, keys);
      v_ = appended(v_, CachedValues, keys);
    }
    node_.give(k_.id(), NewKeys);
    node_.give(v_.id(), NewValues);
    if (has_past) {
      const Dim none = node_.dims().constant(0);
      k_ = slice(k_, 2, none, keys);
      v_ = slice(v_, 2, none, keys);
    }
    const AttentionOperands of{q_, repeated_heads(k_, heads_), repeated_heads(v_, heads_),
                               scale_of(q_, node_.number("scale", 0))};
    // Without a cache all samples begin at place 0.
    const bool ends_together = !has_past && is_causal();
    node_.give(joined_heads(attend(of, bias(of, ends_together), ends_together, steps())).id(),
               GroupResult);
  }

 private:
  void refuse_what_is_not_supported() const {
    if (node_.has(KeyScale) || node_.has(ValueScale))
      node_.fail_unsupported("a quantised cache is not supported");
    if (node_.has(QueryNorm) || node_.has(KeyNorm))
      node_.fail_unsupported("norms of queries and keys within it are not supported");
    if (node_.has(QueryLengths)) node_.fail_unsupported("query_seqlens is not supported");
    if (node_.integer("sliding_window_cache", 0) != 0)
      node_.fail_unsupported("a cache of a window alone is not supported");
    if (node_.wants(GroupScores)) node_.fail_unsupported("output_qk is not supported");
  }

  bool is_causal() const { return node_.integer("causal", 1) != 0; }
  Dim new_tokens() const { return q_.dims()[2]; }

  /// Queries, keys and values by heads, out of three tensors or of one that holds all.
  void take_apart() {
    if (node_.has(GroupKeys)) {
      node_.require_rank(GroupKeys, 3);
      node_.require_rank(GroupValues, 3);
      q_ = split_heads(q_, heads_);
      k_ = split_heads(input_expr(node_, GroupKeys), key_heads_);
      v_ = split_heads(input_expr(node_, GroupValues), key_heads_);
      return;
    }
    const TensorExpr packed = q_;
    const Dim size = floordiv(packed.dims()[2], heads_ + key_heads_ * 2);
    const auto part = [&](Dim first, Dim heads) {
      return split_heads(slice(packed, 2, first * size, (first + heads) * size), heads);
    };
    q_ = part(node_.dims().constant(0), heads_);
    k_ = part(heads_, key_heads_);
    v_ = part(heads_ + key_heads_, key_heads_);
  }

  /// The places by which tokens are turned, [B, S]. Of the first prompt, which is as long as all
  /// there is, the first one given counts, and others follow on it.
  TensorExpr turning_places() {
    const TensorExpr step = range(node_, new_tokens());
    if (!node_.has(PositionIds)) return before_ + step;
    node_.require_rank(PositionIds, 2);
    const TensorExpr given = cast(input_expr(node_, PositionIds), DType::i64);
    const Dim none = node_.dims().constant(0), one = node_.dims().constant(1);
    const TensorExpr first = slice(slice(given, 0, none, one), 1, none, one),
                     total = cast(reshape(input_expr(node_, TotalLength), {}), DType::i64);
    return where(equal(total, size(node_, new_tokens())), first + step, given);
  }

  void turn() {
    const TensorExpr places = turning_places();
    node_.require_rank(Cosines, 2);
    const bool interleaved = node_.integer("rotary_interleaved", 0) != 0;
    const Dim part = node_.type(Cosines).dims[1] * 2;
    q_ = turned_heads(node_, q_, places, Cosines, part, interleaved);
    k_ = turned_heads(node_, k_, places, Cosines, part, interleaved);
  }

  /// The keys of the longest sample.
  Dim total_length() {
    if (const std::optional<KnownInts> known = node_.ints_of_any_rank(TotalLength);
        known && known->elements.size() == 1)
      return known->elements.front();
    const Dim total = node_.defined_dim("total_length");
    apply("sizes", {reshape(input_expr(node_, TotalLength), {node_.dims().constant(1)})},
          {{"dims", std::vector{total}}});
    return total;
  }

  /// New heads behind the cached ones of each sample, [B, H, L, D], where L is the cache's own
  /// length or `total`, whichever is greater.
  TensorExpr appended(const TensorExpr& x, std::size_t cache_input, Dim total) {
    node_.require_rank(cache_input, 4);
    const TensorExpr cache = input_expr(node_, cache_input);
    const Dims dims = cache.dims();
    const Dim length = max(dims[2], total), none = node_.dims().constant(0);
    const TensorExpr padded =
        apply("pad", {cache},
              {node_.dim_list("before", Dims(4, none)),
               node_.dim_list("after", Dims{none, none, length - dims[2], none})});
    const TensorExpr place = range(node_, length) - before_;  // [B, L], of each among the new ones
    const TensorExpr last = size(node_, x.dims()[2]) - 1.0;
    const TensorExpr rows = reshape(x, {x.dims()[0] * x.dims()[1] * x.dims()[2], x.dims()[3]});
    // Row (b, h, s) of the new heads is row (b * H + h) * S + s of all.
    const TensorExpr head =
        reshape(range(node_, x.dims()[0] * x.dims()[1]) * size(node_, x.dims()[2]),
                {x.dims()[0], x.dims()[1], node_.dims().constant(1)});
    const TensorExpr within = unsqueeze(minimum(maximum(place, 0.0), last), 1);
    const TensorExpr from_new = gather(rows, head + within, 0);
    const TensorExpr is_new = both(less_equal(place.scalar(0), place), less_equal(place, last));
    return where(unsqueeze(unsqueeze(is_new, 1), 3), from_new, padded);
  }

  /// Of what the queries see by their places, but for the causal mask where `ends_together`.
  std::optional<TensorExpr> bias(const AttentionOperands& of, bool ends_together) {
    Sight sight{.is_causal = is_causal() && !ends_together};
    if (!is_causal()) sight.lengths = along(last_, 0, 4) + 1.0;
    // The window counts the query's own place.
    if (const std::int64_t window = node_.integer("local_window_size", -1); window > 0)
      sight.left = window - 1;
    std::optional<TensorExpr> bias;
    if (node_.has(GroupBias)) {
      node_.require_rank(GroupBias, 4);
      bias = input_expr(node_, GroupBias);
    }
    if (sight.is_all()) return bias;
    TokenPlaces at = first_places(of);
    at.query = at.query + along(before_, 0, 4);
    return both_biases(bias, bias_of_seen(seen_by_place(at, sight), of));
  }

  ScoreSteps steps() {
    ScoreSteps steps{.softcap = node_.number("softcap", 0)};
    if (node_.has(HeadSink))
      steps.sink = along(input_expr(node_, HeadSink), 1, 4);
    else if (node_.integer("smooth_softmax", 0) == 1)
      steps.sink = q_.scalar(0);
    return steps;
  }

  NodeContext& node_;
  const Dim heads_, key_heads_;
  TensorExpr q_, k_, v_;
  TensorExpr last_, before_;
};

void convert_group_query_attention(NodeContext& node) { GroupQueryAttention(node).convert(); }

}  // namespace

Family group_query_operators() {
  return {{"GroupQueryAttention", convert_group_query_attention, Halves::InF32},
          {"RotaryEmbedding", convert_placed_rotary, Halves::InF32}};
}

}  // namespace dyn::onnx
