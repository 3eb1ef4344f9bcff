// Linear attention, whose heads each have a matrix as their state.

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

constexpr std::size_t query_input = 0, key_input = 1, value_input = 2, state_input = 3;

struct Rule {
  std::string_view name;
  bool gated, delta;
};
constexpr Rule attention_rules[] = {{"linear", false, false},
                                    {"gated", true, false},
                                    {"delta", false, true},
                                    {"gated_delta", true, true}};

const Rule& rule_of(InferContext& context) {
  const std::string word = context.word("rule");
  const Rule* const found = std::ranges::find(attention_rules, word, &Rule::name);
  if (found == std::end(attention_rules))
    context.fail(fmt::format(
        "linear_attention: rule must be linear, gated, delta or gated_delta, not \"{}\"", word));
  return *found;
}

/// q: [B, T, N * H, K], k: [B, T, H, K], v: [B, T, H, V], state: [B, H, K, V], decay: [B, T, H or
/// 1, K or 1], beta: [B, T, H or 1].
void infer_linear_attention(InferContext& context, std::vector<TensorType>& outputs) {
  const Rule& rule = rule_of(context);
  const std::size_t wanted = 4 + (rule.gated ? 1 : 0) + (rule.delta ? 1 : 0);
  if (context.input_count() != wanted)
    context.fail(fmt::format("linear_attention: the rule {} has {} arguments, not {}", rule.name,
                             wanted, context.input_count()));
  for (std::size_t i = 0; i < wanted; ++i) {
    require_dtype(context, i, single_dtypes);
    require_rank(context, i, rule.delta && i + 1 == wanted ? 3 : 4);
  }
  const TensorType q = context.input(query_input), k = context.input(key_input),
                   v = context.input(value_input);
  const auto equal = [&](std::size_t input, int axis, Dim expected, const char* what) {
    context.require_equal(context.input(input).dims[static_cast<std::size_t>(axis)], expected,
                          dim_name(context, input, axis), what);
  };
  const auto shared = [&](std::size_t input, int axis, Dim expected, const char* what) {
    if (context.input(input).dims[static_cast<std::size_t>(axis)].constant() != 1)
      equal(input, axis, expected, what);
  };
  for (std::size_t i = 0; i < wanted; ++i) {
    equal(i, 0, q.dims[0], "the batch");
    if (i != state_input) equal(i, 1, q.dims[1], "the steps");
  }
  context.require_multiple(q.dims[2], k.dims[2], dim_name(context, query_input, 2));
  equal(value_input, 2, k.dims[2], "the heads of keys");
  equal(query_input, 3, k.dims[3], "the size of a key");
  equal(state_input, 1, k.dims[2], "the heads of keys");
  equal(state_input, 2, k.dims[3], "the size of a key");
  equal(state_input, 3, v.dims[3], "the size of a value");
  for (std::size_t i = 4; i < wanted; ++i) shared(i, 2, k.dims[2], "the heads of keys");
  if (rule.gated) shared(4, 3, k.dims[3], "the size of a key");
  outputs[0] = {q.dtype, {q.dims[0], q.dims[1], q.dims[2], v.dims[3]}};
  outputs[1] = context.input(state_input);
}

}  // namespace

std::vector<OpDef> linear_attention_ops() {
  return {
      {OpId::LinearAttention,
       OpClass::Host,
       4,
       6,
       2,
       {{"rule", AttrKind::Word, "linear", "linear, gated, delta or gated_delta"},
        {"scale", AttrKind::Float, "1", "a factor of the results"}},
       infer_linear_attention,
       "Attention by a matrix S for each head: at each step S becomes exp(decay) * S (gated), beta "
       "* "
       "(v - S^T k) takes the place of v (delta), k v^T is added to S, and scale * S^T q is the "
       "result; arguments: q, k, v, state (S before the first step), decay (gated), beta (delta).",
       "q: [B, T, N * H, K], k: [B, T, H, K], v: [B, T, H, V], state: [B, H, K, V], decay: [B, T, "
       "H "
       "or 1, K or 1], beta: [B, T, H or 1]; N queries share a head. The results are [B, T, N * H, "
       "V], and S after the last step.",
       "f32, f16 or bf16; the results have q's and state's",
       "Another number of arguments than the rule asks for; sizes that do not fit each other."},
  };
}

}  // namespace dyn::graph
