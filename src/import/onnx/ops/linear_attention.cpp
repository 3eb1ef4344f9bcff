// Attention by a matrix for each head, and the convolution that comes before it in such models.

#include <cmath>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {
namespace {

/// Where the inputs of LinearAttention stand in the ONNX specification.
enum LinearInput : std::size_t { LinearQuery, LinearKey, LinearValue, PastState, Decay, Beta };

/// [B, T, H * D] as [B, T, H, D].
TensorExpr with_heads(NodeContext& node, std::size_t input, std::int64_t heads) {
  node.require_rank(input, 3);
  const TensorExpr x = input_expr(node, input);
  const Dims dims = x.dims();
  const Dim count = node.dims().constant(heads);
  if (dims[2].constant() && *dims[2].constant() % heads != 0)
    node.fail(fmt::format("input {} has {} elements in its last dim, which {} heads do not divide",
                          input, *dims[2].constant(), heads));
  return reshape(x, {dims[0], dims[1], count, floordiv(dims[2], count)});
}

std::int64_t heads_of(NodeContext& node, const char* name) {
  const std::int64_t heads = node.integer(name, 0);
  if (heads < 1) node.fail(fmt::format("{} is {}, and must be at least 1", name, heads));
  return heads;
}

double scale_of(NodeContext& node, Dim key_size) {
  const double given = node.number("scale", 0);
  if (given != 0) return given;
  const std::optional<std::int64_t> size = key_size.constant();
  if (!size || *size < 1) node.fail_unsupported("without a scale the size of a key must be known");
  return 1 / std::sqrt(static_cast<double>(*size));
}

/// Gates and rates have an input each, where the rule wants them and nowhere else.
void check_rule(NodeContext& node, std::size_t input, const char* what, bool is_wanted,
                const std::string& rule) {
  if (node.has(input) == is_wanted) return;
  node.fail(fmt::format("the rule {} {} the input {}", rule, is_wanted ? "needs" : "does not take",
                        what));
}

void convert_linear_attention(NodeContext& node) {
  const std::string rule = node.word("update_rule", "gated_delta");
  const bool is_gated = rule == "gated" || rule == "gated_delta",
             has_delta = rule == "delta" || rule == "gated_delta";
  check_rule(node, Decay, "decay", is_gated, rule);
  check_rule(node, Beta, "beta", has_delta, rule);
  const std::int64_t queries = heads_of(node, "q_num_heads"),
                     heads = heads_of(node, "kv_num_heads");
  if (queries % heads != 0)
    node.fail(fmt::format("q_num_heads is {}, no multiple of kv_num_heads, {}", queries, heads));
  const TensorExpr q = with_heads(node, LinearQuery, queries),
                   k = with_heads(node, LinearKey, heads), v = with_heads(node, LinearValue, heads);
  const TensorExpr past = node.has(PastState)
                              ? input_expr(node, PastState)
                              : expand(q.scalar(0), {q.dims()[0], node.dims().constant(heads),
                                                     k.dims()[3], v.dims()[3]});
  std::vector<ValueId> inputs{q.id(), k.id(), v.id(), past.id()};
  if (is_gated) inputs.push_back(with_heads(node, Decay, heads).id());
  if (has_delta) {
    node.require_rank(Beta, 3);
    inputs.push_back(node.value(Beta));
  }
  const std::vector<ValueId> results =
      node.add_all("linear_attention", std::move(inputs),
                   {{"rule", rule}, {"scale", scale_of(node, q.dims()[3])}});
  const TensorExpr result{node, results[0]};
  const Dims dims = result.dims();
  node.give(reshape(result, {dims[0], dims[1], dims[2] * dims[3]}).id());
  node.give(results[1], 1);
}

/// Each channel with a filter of its own over what came before: the state, or zeros, and the input.
void convert_causal_conv(NodeContext& node) {
  constexpr std::size_t filter_input = 1, bias_input = 2, past_input = 3;
  for (const std::size_t input : {std::size_t{0}, filter_input}) node.require_rank(input, 3);
  const TensorExpr x = input_expr(node, 0), filters = input_expr(node, filter_input);
  const std::optional<std::int64_t> channels = filters.dims()[0].constant(),
                                    taps = filters.dims()[2].constant();
  if (!channels || !taps || *taps < 1)
    node.fail_unsupported("the sizes of its filters must be known, with at least one tap");
  if (filters.dims()[1].constant() != 1)
    node.fail(fmt::format("its filters have {} channels each, not 1",
                          graph::to_string(filters.dims()[1])));
  const std::string activation = node.word("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    node.fail(fmt::format("the activation {} is unknown", activation));
  if (node.has(past_input)) node.require_rank(past_input, 3);
  const Dim before = node.dims().constant(*taps - 1);
  const TensorExpr past = node.has(past_input)
                              ? input_expr(node, past_input)
                              : expand(x.scalar(0), {x.dims()[0], x.dims()[1], before});
  const TensorExpr seen = concat({past, x}, 2);
  TensorExpr y = apply("conv", {transpose(seen, {0, 2, 1}), transpose(filters, {2, 1, 0})},
                       {node.dim("groups", *channels)});
  if (node.has(bias_input)) y = y + input_expr(node, bias_input);
  if (activation != "none") y = apply("silu", {y});
  node.give(transpose(y, {0, 2, 1}).id());
  if (node.wants(1)) node.give(slice(seen, 2, x.dims()[2], x.dims()[2] + before).id(), 1);
}

}  // namespace

Family linear_attention_operators() {
  return {{"LinearAttention", convert_linear_attention},
          {"CausalConvWithState", convert_causal_conv, Halves::InF32}};
}

}  // namespace dyn::onnx
