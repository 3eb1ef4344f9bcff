// Cases that random graphs seldom meet.

#include <doctest/doctest.h>

#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "graph/text/text.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

TEST_CASE("a dim that may be 1 broadcasts as bind decides") {
  const std::string text =
      "dyn 1\ndim A in 0..100\ndim B in 0..100\n"
      "graph g(x: f32[A, 6], y: f32[B, 6]) -> (z: f32[_, 6], s: f32[_]) {\n"
      "  z = relu(x + y) * x\n  s = reduce_sum(z * y) axes=[1] keepdims=false\n  return z, s\n}\n";
  std::mt19937_64 random(1);
  for (const auto& [a, b] :
       {std::pair<std::int64_t, std::int64_t>{3, 3}, {1, 3}, {3, 1}, {1, 1}, {0, 1}}) {
    CAPTURE(a);
    CAPTURE(b);
    CHECK(compare_with_reference(text, {{"A", a}, {"B", b}}, random) == "");
  }
}

TEST_CASE(
    "whole attention reads and writes through views: heads that share keys, a mask that "
    "broadcasts, no copies") {
  const std::string text =
      "dyn 1\ndim B in 0..100\ndim S in 1..100\ndim T in 1..100\n"
      "graph g(q: f32[B, S, 24], kv: f32[B, T, 16], mask: f32[B, 1, T]) -> (y: f32[B, S, 24]) {\n"
      "  qh = transpose(reshape(q) shape=[B, S, 2, 3, 4]) perm=[0, 2, 3, 1, 4]\n"
      "  parts = transpose(reshape(kv) shape=[B, T, 2, 2, 1, 4]) perm=[2, 0, 3, 4, 1, 5]\n"
      "  k = expand(reshape(slice(parts) axes=[0] starts=[0] ends=[1]) shape=[B, 2, 1, T, 4]) "
      "shape=[B, 2, 3, T, 4]\n"
      "  v = expand(reshape(slice(parts) axes=[0] starts=[1] ends=[2]) shape=[B, 2, 1, T, 4]) "
      "shape=[B, 2, 3, T, 4]\n"
      "  m = reshape(mask) shape=[B, 1, 1, 1, T]\n"
      "  a = attention(qh, k, v, m)\n"
      "  y = reshape(transpose(a) perm=[0, 3, 1, 2, 4]) shape=[B, S, 24]\n  return y\n}\n";
  const Pipeline pipeline = through_passes(text, {.keep_attention = true});
  CHECK(defects(pipeline).empty());
  REQUIRE(pipeline.problems.size() == 1);
  CHECK(pipeline.fusion.groups[0].name == "attention_0");
  std::mt19937_64 random(4);
  for (const auto& [b, s, t] : {std::tuple<std::int64_t, std::int64_t, std::int64_t>{2, 3, 5},
                                {1, 1, 7},
                                {3, 4, 1},
                                {0, 2, 2}}) {
    CHECK(compare_with_reference(text, {{"B", b}, {"S", s}, {"T", t}}, random,
                                 {.keep_attention = true}) == "");
  }
}

TEST_CASE("attention gives 0 where the mask hides every key") {
  const std::string text =
      "dyn 1\ndim S in 1..100\ndim D in 1..100\n"
      "graph g(q: f32[2, S, D], k: f32[2, S, D], v: f32[2, S, D], mask: f32[2, 1, S]) -> (y: "
      "f32[2, S, D]) {\n"
      "  y = attention(q, k, v, mask)\n  return y\n}\n";
  for (const bool whole : {false, true}) {
    CAPTURE(whole);
    const Pipeline pipeline = through_passes(text, {.keep_attention = whole});
    std::mt19937_64 random(2);
    auto inputs =
        random_inputs(pipeline.module, {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {2, 1, 3}}, random);
    for (std::size_t key = 0; key < 3; ++key)
      inputs[3].floats[key] = -std::numeric_limits<double>::infinity();
    const auto module = graph::parse(text);
    const auto expected = reference::run(module, std::vector<std::int64_t>{3, 4}, inputs, {},
                                         reference::Precision::f64);
    const auto actual = interpret_all(pipeline, inputs);
    CHECK(difference(expected, actual) == "");
    for (std::size_t i = 0; i < 12; ++i) CHECK(actual[0].floats[i] == 0);
  }
}

TEST_CASE(
    "outputs that are inputs, weights, literals, twice the same, or views of each other have "
    "buffers of their own") {
  const std::string text =
      "dyn 1\ndim A in 0..100\n"
      "graph g(x: f32[A, 6]) -> (r0: f32[A, 6], r1: f32[2, 3], r2: f32[A, 6], r3: f32[A, 6], r4: "
      "f32[6 * A], r5: f32[6, A], r6: f32[4, 2]) {\n"
      "  y = relu(x)\n  f = reshape(y) shape=[6 * A]\n  t = transpose(y) perm=[1, 0]\n  e = "
      "expand(2.5) shape=[4, 2]\n"
      "  return x, w: f32[2, 3], y, y, f, t, e\n}\n";
  CHECK(defects(through_passes(text)).empty());
  std::mt19937_64 random(3);
  CHECK(compare_with_reference(text, {{"A", 3}}, random) == "");
}

TEST_CASE("a chain of 100,000 nodes passes in seconds") {
  std::string body = "  t0 = x + 1.5\n";
  const int count = test_rounds(100'000);
  for (int i = 1; i < count; ++i) {
    body += i % 10 == 0 ? fmt::format("  t{} = matmul(t{}, w{}: f32[6, 6])\n", i, i - 1, i % 7)
                        : fmt::format("  t{} = t{} {} x\n", i, i - 1, i % 2 ? "+" : "*");
  }
  const std::string text = fmt::format(
      "dyn 1\ndim A in 0..100\ngraph g(x: f32[A, 6]) -> (y: f32[A, 6]) {{\n{}  return t{}\n}}\n",
      body, count - 1);
  const auto start = std::chrono::steady_clock::now();
  const Pipeline pipeline = through_passes(text);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE(count << " nodes: " << seconds << " s");
  CHECK(defects(pipeline).empty());
  CHECK(pipeline.fusion.groups.size() == static_cast<std::size_t>(count / 10));
  CHECK(seconds < 60);
}

}  // namespace
}  // namespace dyn::testing
