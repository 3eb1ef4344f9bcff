// A Session: a small language model writes token by token, and a cache keeps the keys and values of
// the tokens so far.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

/// One layer of attention between a table of words and the scores of the next one. `with_cache`
/// adds memory: two states, and the appends of keys and values to them. P is the session's length,
/// C the number of positions that there is room for.
std::string model(bool with_cache) {
  const std::string states = R"(
    dim P in 0..256
    dim C in 1..256
    state keys: f32[B, C, 32]
    state values: f32[B, C, 32]
  )";
  const std::string cached = R"(
      k_all = slice(append(keys, k) at=P axis=1) axes=[1] starts=[0] ends=[P + S]
      v_all = slice(append(values, v) at=P axis=1) axes=[1] starts=[0] ends=[P + S]
      a = attention(q, k_all, v_all) causal=true
  )";
  return R"(
    dyn 1
    dim B in 1..8
    dim S in 1..256
    weight words: f32[64, 32] = random 1
    weight to_q: f32[32, 32] = random 2
    weight to_k: f32[32, 32] = random 3
    weight to_v: f32[32, 32] = random 4
    weight next: f32[32, 64] = random 5
  )" + (with_cache ? states : "") +
         R"(
    graph language(ids: i64[B, S]) -> (logits: f32[B, S, 64]) {
      x = gather(words, ids) axis=0
      q = matmul(x, to_q)
      k = matmul(x, to_k)
      v = matmul(x, to_v)
  )" + (with_cache ? cached : "      a = attention(q, k, v) causal=true") +
         R"(
      return matmul(x + 3.0 * a, next)
    }
  )";
}

/// The most likely token after the last position.
std::int64_t best(std::span<const float> logits) {
  const auto last = logits.last(64);
  return std::max_element(last.begin(), last.end()) - last.begin();
}

}  // namespace

int main() {
  const dyn::Graph graph = dyn::Graph::from_text(model(true)),
                   without = dyn::Graph::from_text(model(false));
  std::vector<std::int64_t> text = {17, 4, 42};

  dyn::Session session(graph, {{"B", 1}, {"C", 64}});
  std::vector<std::int64_t> next = text;  // the whole prompt first, then one token at a time
  float worst = 0;
  while (text.size() < 40) {
    const auto outputs = session.run(
        {{"ids", dyn::Tensor::view(next, {1, static_cast<std::int64_t>(next.size())})}});
    const std::span<const float> logits = outputs["logits"].data<float>();

    // Without a cache all tokens are computed anew in each step; the last ones' logits are the
    // same.
    const auto anew = without.run(
        {{"ids", dyn::Tensor::view(text, {1, static_cast<std::int64_t>(text.size())})}});
    const auto expected = anew["logits"].data<float>().last(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i)
      worst = std::max(worst, std::abs(logits[i] - expected[i]));

    next = {best(logits)};
    text.push_back(next[0]);
  }
  for (const std::int64_t token : text) std::printf("%d ", static_cast<int>(token));
  std::printf(
      "\n%d positions in %zu bytes of state; largest difference to the model without cache: %g\n",
      static_cast<int>(session.length()), session.bytes(), static_cast<double>(worst));
  return worst < 1e-4f && session.length() == 39 ? 0 : 1;
}
