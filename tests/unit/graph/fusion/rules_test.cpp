// Every rule of fusion, on a graph in which it decides.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "graph/fusion/rules.hpp"
#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

struct RuleCase {
  std::string rule;
  std::string body;   ///< over x: f32[A, 6], q: f32[6, 6], w: f32[6, 6], b: f32[6], ids: i64[A],
                      ///< n: f32[A, 64]
  std::string node;   ///< the result of the node that is decided on
  std::string group;  ///< where
  std::string about = "";  ///< the tensor by which
  bool share_inputs = false;
};

/// s0 = sin(x), s1 = sin(s0), ..., and y, the last.
std::string chain_of_sines(int count) {
  std::string body = "  s0 = sin(x)\n";
  for (int i = 1; i + 1 < count; ++i) body += fmt::format("  s{} = sin(s{})\n", i, i - 1);
  return body + fmt::format("  y = sin(s{})\n", count - 2);
}

// The graphs return y, and z where they have one.
const RuleCase rule_cases[] = {
    {"host-alone", "  c = cumsum(x) axis=1\n  y = relu(c)\n", "y", "cumsum_0"},
    {"attention-alone",
     "  s = reshape(q) shape=[1, 6, 6]\n  c = attention(s, s, s)\n  y = tanh(reshape(c) shape=[6, "
     "6])\n",
     "y", "attention_0"},
    {"recurrence-alone",
     "  s, l = rnn(reshape(x) shape=[1, A, 6], reshape(q) shape=[1, 6, 6], reshape(b) shape=[1, "
     "6], "
     "cast(ids) dtype=i32, expand(0.0) shape=[1, A, 6])\n  y = tanh(reshape(l) shape=[A, 6])\n",
     "y", "rnn_0"},
    {"chain-upwards", "  a = tanh(x)\n  z = exp(a)\n  y = sin(a)\n", "y", "exp_0"},
    {"contraction-starts", "  a = matmul(x, q)\n  y = matmul(a, w)\n", "y", "matmul_0"},
    {"indexed-starts", "  a = matmul(x, q)\n  y = concat(a, x) axis=0\n", "y", "matmul_0"},
    {"indexed-before-matmul", "  g = gather(q, ids) axis=0\n  y = matmul(x, w) + g\n", "g",
     "matmul_0"},
    {"reduction-starts", "  a = matmul(x, q)\n  y = reduce_sum(a) axes=[1]\n", "y", "matmul_0"},
    {"taken", "  a = tanh(matmul(x, q))\n  y = reduce_sum(a) axes=[1]\n", "a", "reduce_sum_0"},
    {"other-reduction", "  a = reduce_max(x) axes=[1]\n  m = x - a\n  y = reduce_sum(m) axes=[0]\n",
     "y", "reduce_max_0"},
    {"parts-in-place",
     "  c = concat(matmul(x, q), matmul(x, w), matmul(x, q + 1.0), matmul(x, w + 1.0)) axis=1\n"
     "  y = reduce_sum(c) axes=[1]\n",
     "c", "reduce_sum_0"},
    {"widens-kept",
     "  c = cast(matmul(x, v: f32[6, 8])) dtype=u8\n  d = cast(c) dtype=f32\n  y = tanh(d)\n"
     "  z = cast(matmul(c, u: i8[8, 6])) dtype=f32\n",
     "d", "matmul_0"},
    {"read-from-memory", "  a = tanh(x)\n  y = matmul(a, q)\n", "a", "matmul_0", "y"},
    {"same-reduction", "  a = reduce_max(x) axes=[1]\n  m = x - a\n  y = reduce_sum(m) axes=[1]\n",
     "y", "reduce_max_0"},
    {"next-to-member", "  a = matmul(x, q)\n  y = tanh(a)\n", "y", "matmul_0"},
    {"whole-space", "  a = reduce_max(x) axes=[1]\n  y = x - a\n", "y", "reduce_max_0"},
    {"feeds-members", "  a = tanh(x)\n  y = reduce_sum(a) axes=[1]\n", "a", "reduce_sum_0"},
    {"no-place", "  a = matmul(x, reshape(b) shape=[6, 1])\n  y = a * x\n", "y", "matmul_0"},
    {"kept-before-matmul", "  r = tanh(x)\n  y = matmul(x, q) + r\n  z = exp(r)\n", "r",
     "matmul_0"},
    {"two-places", "  a = tanh(q)\n  y = a + transpose(a) perm=[1, 0]\n", "a", "add_0", "y"},
    {"read-too-early", "  a = tanh(x)\n  z = exp(a)\n  y = sin(a)\n", "a", "sin_0", "z"},
    {"not-whole", "  z = tanh(reshape(b) shape=[1, 6])\n  y = reduce_sum(x + z) axes=[1]\n", "z",
     "reduce_sum_0"},
    {"repeats-work", "  a = tanh(b)\n  y = matmul(x, q) + a\n", "a", "matmul_0"},
    {"operand-too-late", "  a = matmul(x, q)\n  c = matmul(x, w)\n  y = a + c\n", "y", "matmul_0",
     "c"},
    {"operand-without-place",
     "  c = concat(x, x) axis=1\n  y = reduce_sum(slice(c) axes=[1] starts=[0] ends=[12] "
     "steps=[2]) axes=[1]\n",
     "c", "reduce_sum_0"},
    {"operand-elsewhere", "  a = matmul(q, w)\n  y = a + transpose(a) perm=[1, 0]\n", "y",
     "matmul_0", "a"},
    {"full", chain_of_sines(130), "s1", "sin_1"},
    {"same-left-side",
     "  a = matmul(x, g: f32[6, 8])\n  c = matmul(x, h: f32[6, 8])\n  y = tanh(a) * c\n", "c",
     "matmul_0"},
    {"same-input", "  z = reduce_max(x) axes=[1]\n  y = reduce_sum(tanh(x)) axes=[1]\n", "y",
     "reduce_max_0", "", true},
    {"passed-over", "  m = x - reduce_max(x) axes=[1]\n  y = matmul(m, g: f32[6, 64])\n", "m",
     "matmul_0"},
    {"across-moves", "  t = relu(transpose(x) perm=[1, 0])\n  y = matmul(t, n)\n", "t.turned",
     "matmul_0"},
    {"prologue-costs", "  t = tanh(x)\n  y = matmul(t, g: f32[6, 64])\n", "t", "matmul_0"},
    {"free", "  r = range() end=6 dtype=f32\n  y = matmul(x, q) + r\n", "r", "matmul_0"},
};

std::string text_of(const RuleCase& c) {
  std::string results = "y: f32[_, _]", values = "y";
  if (c.body.find("  z =") != std::string::npos) {
    results += ", z: f32[_, _]";
    values += ", z";
  }
  return "dyn 1\ndim A in 2..100\nweight w: f32[6, 6] = random 1\ngraph g(x: f32[A, 6], q: f32[6, "
         "6], b: f32[6], ids: i64[A], n: f32[A, 64]) -> (" +
         results + ") {\n" + c.body + "  return " + values + "\n}\n";
}

std::vector<std::string> decisions_of(const Pipeline& pipeline) {
  std::vector<std::string> all;
  for (const graph::Group& group : pipeline.fusion.groups) {
    for (const graph::FusionDecision& decision : group.decisions) {
      const graph::Node& node = pipeline.module.nodes[static_cast<std::size_t>(decision.node)];
      all.push_back(std::string(decision.rule->joins ? "joined " : "refused ") +
                    pipeline.module.value(node.outputs[0]).name + " at " + group.name + " by " +
                    std::string(decision.rule->name) +
                    (decision.about == graph::no_value
                         ? ""
                         : " (" + pipeline.module.value(decision.about).name + ")"));
    }
  }
  return all;
}

TEST_CASE("every rule of fusion decides where it should, and says so") {
  std::set<std::string> met;
  for (const RuleCase& c : rule_cases) {
    CAPTURE(c.rule);
    met.insert(c.rule);
    const auto all = graph::fusion_rules();
    const auto rule = std::ranges::find(all, c.rule, &graph::FusionRule::name);
    REQUIRE(rule != all.end());
    const std::string text = text_of(c);
    CAPTURE(text);
    const Pipeline pipeline =
        through_passes(text, {.keep_attention = true, .integer_factor = DType::u8},
                       {.place_parts = true,
                        .gated_columns = 8,
                        .prologue_columns = 32,
                        .share_inputs = c.share_inputs,
                        .record_decisions = true});
    const std::string expected = ((*rule)->joins ? "joined " : "refused ") + c.node + " at " +
                                 c.group + " by " + c.rule +
                                 (c.about.empty() ? "" : " (" + c.about + ")");
    const std::vector<std::string> decisions = decisions_of(pipeline);
    std::string found;
    for (const std::string& decision : decisions) found += decision + "\n";
    CAPTURE(found);
    CHECK(std::ranges::any_of(
        decisions, [&](const std::string& decision) { return decision.starts_with(expected); }));
  }
  for (const graph::FusionRule* rule : graph::fusion_rules()) {
    CAPTURE(rule->name);
    CHECK(met.contains(std::string(rule->name)));
  }
}

TEST_CASE("rules have names of their own") {
  std::set<std::string_view> names;
  for (const graph::FusionRule* rule : graph::fusion_rules()) {
    CHECK(names.insert(rule->name).second);
    CHECK_FALSE(rule->says.empty());
  }
}

TEST_CASE("decisions are recorded where they are asked for, and change no group") {
  for (const RuleCase& c : rule_cases) {
    CAPTURE(c.rule);
    const std::string text = text_of(c);
    const Pipeline quiet = through_passes(text, {.keep_attention = true});
    const Pipeline told =
        through_passes(text, {.keep_attention = true}, {.record_decisions = true});
    CHECK(describe(quiet) == describe(told));
    for (const graph::Group& group : quiet.fusion.groups) CHECK(group.decisions.empty());
  }
}

TEST_CASE("a node joins exactly the group in which it ends, by the last decision there") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 30; ++round) {
    const Pipeline pipeline =
        through_passes(random_graph(random, 12), {}, {.record_decisions = true});
    for (const graph::Group& group : pipeline.fusion.groups) {
      std::set<int> joined;
      for (const graph::FusionDecision& decision : group.decisions) {
        if (decision.rule->joins) joined.insert(decision.node);
      }
      if (group.backbone == graph::Backbone::Copy) continue;
      joined.insert(group.backbone_node);
      CHECK(joined == std::set<int>(group.nodes.begin(), group.nodes.end()));
    }
  }
}

}  // namespace
TEST_CASE("along an axis of one element nothing is elsewhere") {
  for (const char* const batch : {"1", "2", "N"}) {
    for (const char* const product :
         {"matmul(x, w: f32[6, 8])", "conv(x, v: f32[3, 6, 8]) before=[1] after=[1]"}) {
      CAPTURE(batch);
      CAPTURE(product);
      graph::Module module = graph::parse(
          fmt::format("dyn 1\ndim N in 1..9\ndim S in 1..9\nweights \"w.safetensors\"\n"
                      "graph g(x: f32[{0}, S, 6]) -> (y: f32[{0}, S, 8]) {{\n"
                      "  c = {1} + b: f32[8]\n  y = c * sigmoid(c)\n  return y\n}}\n",
                      batch, product));
      CHECK(run_pipeline(module, {}).groups.size() == 1);
    }
  }
}

TEST_CASE("an axis of one element joins its neighbour, whatever the strides") {
  // The bias does not vary along the axis, the result does.
  for (const char* const dims : {"N, S, 1", "N, 1, S", "1, N, S"}) {
    CAPTURE(dims);
    const Pipeline result = through_passes(
        fmt::format("dyn 1\ndim N in 1..9\ndim S in 1..9\nweights \"w.safetensors\"\n"
                    "graph g(x: f32[{0}, 6], z: f32[{0}, 1]) -> (y: f32[{0}, 8]) {{\n"
                    "  y = matmul(x, w: f32[6, 8]) + z\n  return y\n}}\n",
                    dims));
    REQUIRE(result.problems.size() == 1);
    CHECK(result.problems.front().axes.size() == 3);
  }
}

TEST_CASE("a batch with right sides of its own is no part of m") {
  const Pipeline result = through_passes(
      "dyn 1\ndim N in 1..9\ngraph g(x: f32[N, 1, 6], v: f32[N, 6, 8]) -> (y: f32[N, 1, 8]) {\n"
      "  y = matmul(x, v)\n  return y\n}\n");
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems.front().axes.size() == 4);
}

}  // namespace dyn::testing
