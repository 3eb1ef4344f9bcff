// Attention: heads that may share keys, a cache of keys and values, masks by data and by place.

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// Where the inputs stand in the ONNX specification.
enum Input : std::size_t { Query, Key, Value, Mask, PastKey, PastValue, Lengths };
/// And the outputs.
enum Output : std::size_t { Result, PresentKey, PresentValue, Scores };

/// Stands for minus infinity in a mask, so that a row without any key has numbers until it is
/// cleared.
constexpr double unseen = -1e30;

/// [B, S, H * D] as [B, H, S, D], which inputs of four dims have already.
TensorExpr by_heads(NodeContext& node, std::size_t input, const char* count) {
  const TensorExpr x = input_expr(node, input);
  if (x.rank() == 4) return x;
  node.require_rank(input, 3);
  const std::int64_t heads = node.integer(count, 0);
  if (heads < 1) node.fail(fmt::format("with inputs of three dims it needs {}", count));
  const Dims dims = x.dims();
  const Dim number = node.dims().constant(heads);
  return transpose(reshape(x, {dims[0], dims[1], number, floordiv(dims[2], number)}), {0, 2, 1, 3});
}

/// The keys or values with those of the past before them.
TensorExpr with_past(NodeContext& node, const TensorExpr& x, std::size_t past) {
  if (!node.has(past)) return x;
  node.require_rank(past, 4);
  return concat({input_expr(node, past), x}, 2);
}

/// Each head as often as there are queries' heads for it.
TensorExpr repeated(const TensorExpr& x, Dim heads) {
  const Dims dims = x.dims();
  if (prove_equal(dims[1], heads) == true) return x;
  return reshape(
      expand(unsqueeze(x, 2), {dims[0], dims[1], floordiv(heads, dims[1]), dims[2], dims[3]}),
      {dims[0], heads, dims[2], dims[3]});
}

/// An attention computes with these.
struct Operands {
  TensorExpr q, k, v;
  double scale;
};

Operands operands_of(NodeContext& node) {
  if (node.has(Lengths)) node.require_rank(Lengths, 1);
  const TensorExpr q = by_heads(node, Query, "q_num_heads");
  const TensorExpr k = with_past(node, by_heads(node, Key, "kv_num_heads"), PastKey),
                   v = with_past(node, by_heads(node, Value, "kv_num_heads"), PastValue);
  if (node.wants(PresentKey)) node.give(k.id(), PresentKey);
  if (node.wants(PresentValue)) node.give(v.id(), PresentValue);
  const Dim heads = q.dims()[1];
  double scale = node.number("scale", 0);
  if (scale == 0) {
    const std::optional<std::int64_t> size = q.dims()[3].constant();
    if (!size) node.fail_unsupported("without a scale the size of a head must be known");
    scale = 1 / std::sqrt(static_cast<double>(*size));
  }
  return {q, repeated(k, heads), repeated(v, heads), scale};
}

/// 0 where the mask lets a query see a key, and `unseen` elsewhere. It may be for fewer keys than
/// there are; the others are not seen.
TensorExpr bias_of_mask(NodeContext& node, const Operands& of) {
  const TensorExpr mask = input_expr(node, Mask), zero = of.q.scalar(0);
  const TensorExpr bias = mask.dtype() == DType::boolean
                              ? where(mask, zero, unseen)
                              : maximum(cast(mask, of.q.dtype()), unseen);
  Dims dims = bias.dims();
  const Dim keys = of.k.dims()[2];
  if (dims.empty() || dims.back().constant() == 1 || prove_equal(dims.back(), keys) == true)
    return bias;
  dims.back() = keys - dims.back();
  return concat({bias, expand(of.q.scalar(unseen), dims)}, bias.rank() - 1);
}

/// The place of each query among the keys, [.., Sq, 1], and of each key, [1, Skv].
struct Places {
  TensorExpr query, key;
};

Places places_of(NodeContext& node, const Operands& of) {
  const Dim queries = of.q.dims()[2], keys = of.k.dims()[2];
  TensorExpr query = along(range(node, queries), 0, 2);
  if (node.has(PastKey))
    query = query + size(node, node.type(PastKey).dims[2]);
  else if (node.has(Lengths))
    query = query + along(input_expr(node, Lengths), 0, 4) - size(node, queries);
  return {query, along(range(node, keys), 1, 2)};
}

/// True where a query may see a key by their places; nothing where every place may be seen.
std::optional<TensorExpr> seen_by_place(NodeContext& node, const Operands& of, bool is_causal) {
  const std::int64_t left = node.integer("left_window_size", -1),
                     right = node.integer("right_window_size", -1);
  if (!is_causal && left < 0 && right < 0 && !node.has(Lengths)) return std::nullopt;
  const Places at = places_of(node, of);
  std::optional<TensorExpr> seen;
  const auto require = [&](const TensorExpr& condition) {
    seen = seen ? both(*seen, condition) : condition;
  };
  if (is_causal) require(less_equal(at.key, at.query));
  if (left >= 0) require(less_equal(at.query - static_cast<double>(left), at.key));
  if (right >= 0) require(less_equal(at.key, at.query + static_cast<double>(right)));
  if (node.has(Lengths)) require(less(at.key, along(input_expr(node, Lengths), 0, 4)));
  return seen;
}

std::optional<TensorExpr> bias_of(NodeContext& node, const Operands& of, bool is_causal) {
  std::optional<TensorExpr> bias;
  if (node.has(Mask)) bias = bias_of_mask(node, of);
  if (const std::optional<TensorExpr> seen = seen_by_place(node, of, is_causal)) {
    const TensorExpr by_place = where(*seen, of.q.scalar(0), unseen);
    bias = bias ? *bias + by_place : by_place;
  }
  return bias;
}

/// A row without any key is 0.
TensorExpr cleared(const TensorExpr& rows, const std::optional<TensorExpr>& bias) {
  if (!bias) return rows;
  const TensorExpr any =
      less(rows.scalar(unseen / 2), reduce("reduce_max", *bias, {bias->rank() - 1}, true));
  return rows * cast(any, rows.dtype());
}

/// Step by step, for what the operator `attention` has no place for.
TensorExpr attention_in_steps(NodeContext& node, const Operands& of,
                              const std::optional<TensorExpr>& bias) {
  const double cap = node.number("softcap", 0);
  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  const auto show = [&](std::int64_t at, const TensorExpr& scores) {
    if (mode == at && node.wants(Scores)) node.give(scores.id(), Scores);
  };
  TensorExpr scores = matmul(of.q, transpose(of.k, {0, 1, 3, 2})) * of.scale;
  show(0, scores);
  if (cap > 0) scores = apply("tanh", {scores / cap}) * cap;
  show(1, scores);
  if (bias) scores = scores + *bias;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  show(2, bias ? where(less(scores, unseen / 2), -infinity, scores) : scores);
  const TensorExpr weights = cleared(apply("softmax", {scores}, {node.dim("axis", -1)}), bias);
  show(3, weights);
  return matmul(weights, of.v);
}

void convert_attention(NodeContext& node) {
  if (node.has(PastKey) != node.has(PastValue)) node.fail("past_key and past_value come together");
  if (const std::int64_t mode = node.integer("qk_matmul_output_mode", 0); mode < 0 || mode > 3)
    node.fail(fmt::format("qk_matmul_output_mode is {}, not 0 to 3", mode));
  const Operands of = operands_of(node);
  const bool is_causal = node.integer("is_causal", 0) != 0;
  // The operator's own causal mask counts from the last key, ONNX's from the queries' first.
  const bool ends_together =
      prove_equal(node.has(PastKey) ? node.type(PastKey).dims[2] : node.dims().constant(0),
                  of.k.dims()[2] - of.q.dims()[2]) == true;
  const bool in_steps =
      node.number("softcap", 0) != 0 || node.wants(Scores) || of.q.dtype() != DType::f32;
  const bool is_plain = is_causal && ends_together && !in_steps && !node.has(Mask) &&
                        !node.has(Lengths) && node.integer("left_window_size", -1) < 0;
  const std::optional<TensorExpr> bias = bias_of(node, of, is_causal && !is_plain);
  TensorExpr result = of.q;
  if (in_steps) {
    result = attention_in_steps(node, of, bias);
  } else {
    std::vector<TensorExpr> arguments{of.q, of.k, of.v};
    if (bias) arguments.push_back(*bias);
    result =
        cleared(apply("attention", arguments, {{"scale", of.scale}, {"causal", is_plain}}), bias);
  }
  if (node.type(Query).rank() == 3) {
    const Dims dims = result.dims();
    result = reshape(transpose(result, {0, 2, 1, 3}), {dims[0], dims[2], dims[1] * dims[3]});
  }
  node.give(result.id(), Result);
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
