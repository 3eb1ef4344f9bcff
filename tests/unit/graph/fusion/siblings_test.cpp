// Matmuls that share an input, and matmuls that must not be merged.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/op.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

constexpr const char* weights_head = R"(dyn 1
dim A in 0..8
dim B in 0..8
weight w1: f32[7, 5] = random 1
weight w2: f32[7, 3] = random 2
weight w3: f32[7, 5] = random 3
weight b1: f32[5] = random 4
weight b2: f32[3] = random 5
weight b3: f32[5] = random 6
weight c: f32[5, 4] = random 7
weight d: f32[3, 4] = random 8
)";

std::string text_of(const std::string& body) {
  return std::string(weights_head) +
         "\ngraph g(x: f32[A, B, 7], z: f32[A, B, 5]) -> (y: f32[_, _, _]) {\n" + body + "}\n";
}

int joined_weights(const Pipeline& pipeline) {
  int count = 0;
  for (const graph::Value& value : pipeline.module.values)
    count += value.weight.kind == graph::WeightSource::Kind::Parts;
  return count;
}

struct Case {
  std::string what;
  const char* body;
  int joined;  ///< weights
};

const Case cases[] = {
    {"with biases on either side",
     "  p = matmul(x, w1) + b1\n  q = b2 + matmul(x, w2)\n  y = matmul(p, c) + matmul(q, d)\n  "
     "return y\n",
     2},
    {"without",
     "  p = matmul(x, w1)\n  q = matmul(x, w2)\n  y = matmul(p, c) + matmul(q, d)\n  return y\n",
     1},
    {"one with a bias, two without",
     "  p = matmul(x, w1) + b1\n  q = matmul(x, w2)\n  r = matmul(x, w3)\n  y = matmul(p, c) + "
     "matmul(q, d) + matmul(r, c)\n  return y\n",
     1},
    {"read element by element",
     "  p = relu(matmul(x, w1) + b1)\n  q = matmul(x, w2) + b2\n  y = matmul(p, c) + matmul(q, "
     "d)\n  return y\n",
     0},
    {"equal activations",
     "  p = silu(matmul(x, w1) + b1)\n  q = silu(b2 + matmul(x, w2))\n  y = matmul(p, c) + "
     "matmul(q, d)\n  return y\n",
     2},
    {"activations that differ in a number",
     "  p = maximum(matmul(x, w1), 0.5)\n  q = maximum(matmul(x, w2), 0.25)\n  y = matmul(p, c) + "
     "matmul(q, d)\n  return y\n",
     0},
    {"element by element behind a view",
     "  p = relu(transpose(matmul(x, w1)) perm=[1, 0, 2])\n  q = matmul(x, w2)\n  y = "
     "matmul(transpose(p) perm=[1, 0, 2], c) + matmul(q, d)\n  return y\n",
     0},
    {"an output", "  y = matmul(x, w1)\n  q = matmul(x, w2)\n  return y\n", 0},
    {"a weight that is read twice",
     "  p = matmul(x, w1)\n  q = matmul(x, w2)\n  r = matmul(z, transpose(w1) perm=[1, 0])\n  y = "
     "matmul(p, c) + matmul(q, d) + matmul(r, matmul(w3, c))\n  return y\n",
     0},
    {"no view in a wider row",
     "  p = matmul(x, w1)\n  q = matmul(x, w2)\n  y = matmul(reshape(p) shape=[B, A, 5], c) + "
     "matmul(reshape(transpose(reshape(q) shape=[A, B * 3]) perm=[1, 0]) shape=[B, A, 3], d)\n  "
     "return y\n",
     0},
    {"weights shared by two sets",
     "  p = matmul(x, w1)\n  q = matmul(x, w2)\n  u = matmul(matmul(p, c), transpose(c) perm=[1, "
     "0])\n  v = matmul(softmax(x), w1)\n  w = matmul(softmax(x), w2)\n  y = matmul(u, c) + "
     "matmul(q, d) + matmul(v, c) + matmul(w, d)\n  return y\n",
     1},
};

TEST_CASE("siblings merge where that pays, and give what they gave") {
  std::mt19937_64 random(test_seed(7));
  for (const Case& test : cases) {
    CAPTURE(test.what);
    const std::string text = text_of(test.body);
    try {
      const Pipeline pipeline = through_passes(text);
      CHECK(defects(pipeline).empty());
      CHECK(joined_weights(pipeline) == test.joined);
      for (const graph::Group& group : pipeline.fusion.groups)
        CHECK((test.joined == 0 || group.backbone != graph::Backbone::Copy));
      for (const auto& [a, b] :
           {std::pair<std::int64_t, std::int64_t>{2, 3}, {1, 1}, {0, 2}, {5, 4}}) {
        CHECK(compare_with_reference(text, {{"A", a}, {"B", b}}, random) == "");
      }
    } catch (const Error& error) { FAIL_CHECK(error.what()); }
  }
}

TEST_CASE("random siblings of one input give what they gave") {
  const std::uint64_t first = test_seed(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](std::int64_t low, std::int64_t high) {
      return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    const std::int64_t k = pick(1, 9), count = pick(2, 5);
    std::string weights, body, sum;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = pick(1, 9);
      weights += fmt::format(
          "weight w{}: f32[{}, {}] = random {}\nweight b{}: f32[{}] = random {}\nweight c{}: "
          "f32[{}, 4] = random {}\n",
          i, k, n, i, i, n, 20 + i, i, n, 40 + i);
      body += fmt::format("  p{} = matmul(x, w{}){}\n", i, i,
                          pick(0, 3) > 0 ? fmt::format(" + b{}", i) : "");
      if (pick(0, 4) == 0)
        body += fmt::format("  r{} = tanh(p{})\n", i, i);
      else
        body +=
            fmt::format("  r{} = transpose(transpose(p{}) perm=[1, 0, 2]) perm=[1, 0, 2]\n", i, i);
      sum += fmt::format("{}matmul(r{}, c{})", i > 0 ? " + " : "", i, i);
    }
    const std::string text = fmt::format(
        "dyn 1\ndim A in 0..9\ndim B in 0..9\n{}\ngraph g(x: f32[A, B, {}]) -> (y: f32[A, B, 4]) "
        "{{\n{}  y = {}\n  return y\n}}\n",
        weights, k, body, sum);
    CAPTURE(text);
    CHECK(defects(through_passes(text)).empty());
    CHECK(compare_with_reference(text, {{"A", pick(0, 9)}, {"B", pick(0, 9)}}, random) == "");
  }
}

}  // namespace
}  // namespace dyn::testing
