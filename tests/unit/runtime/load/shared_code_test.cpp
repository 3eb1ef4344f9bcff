// Layers that differ in their sizes alone share their code: a model of many layers starts as soon
// as one of few.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <random>
#include <string>

#include "dyn/dyn.hpp"
#include "tests/support/seed.hpp"

using dyn::Graph;
using dyn::Options;

namespace {

/// Layers of a convolution with its activation, and a concat and a pad of both: all of their sizes
/// are random, but no filter is short and no panel of columns is cut.
std::string network(int layers, std::mt19937_64& random) {
  const auto channels = [&] { return 32 * std::uniform_int_distribution<int>(3, 12)(random); };
  int given = channels();
  std::string weights, body, value = "x";
  const int first = given;
  for (int layer = 0; layer < layers; ++layer) {
    const int made = channels();
    const int margin = std::uniform_int_distribution<int>(1, 9)(random);
    weights +=
        fmt::format("weight w{}: f32[3, 3, {}, {}] = random {}\n", layer, given, made, layer);
    body += fmt::format(
        "  c{0} = relu(conv({1}, w{0}) before=[1, 1] after=[1, 1])\n"
        "  j{0} = concat(c{0}, {1}) axis=3\n"
        "  p{0} = pad(j{0}) before=[0, 0, 0, {2}] after=[0, 0, 0, {3}]\n",
        layer, value, margin, 32 - margin);
    value = fmt::format("p{}", layer);
    given += made + 32;
  }
  return fmt::format(
      "dyn 1\ndim H in 1..64\n{}graph g(x: f32[1, H, H, {}]) -> (y: f32[1, H, H, {}]) "
      "{{\n{}  y = neg({})\n  return y\n}}\n",
      weights, first, given, body, value);
}

Graph load(const std::string& text) {
  Options options;
  options.device = "cpu";
  options.threads = 1;
  options.cache_dir = "none";
  return Graph::from_text(text, options);
}

}  // namespace

TEST_CASE("layers of other sizes need no functions of their own") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const Graph few = load(network(2, random));
  CHECK(few.load_report().kernels_compiled > 0);
  CHECK(load(network(6, random)).load_report().kernels_compiled == 0);
}

TEST_CASE("a tensor that begins within another needs no function of its own") {
  const auto graph = [](const std::string& from) {
    return "dyn 1\ndim N in 1..64\ngraph g(x: f32[N, 80]) -> (y: f32[N, 64]) {\n"
           "  y = neg(slice(x) axes=[1] starts=[" +
           from + "] ends=[" + std::to_string(std::stoi(from) + 64) + "])\n  return y\n}\n";
  };
  const Graph first = load(graph("0"));
  CHECK(first.load_report().kernels_compiled == 1);
  CHECK(load(graph("16")).load_report().kernels_compiled == 0);
}

TEST_CASE("an lstm needs no function of its own, whatever its states and weights are parts of") {
  // x: gates of one direction; h and c: the states that it begins with.
  const auto lstm = [](const std::string& batch, int hidden, const std::string& states,
                       const std::string& weights) {
    return fmt::format(
        "dyn 1\ndim N in 1..64\ndim T in 1..64\nweight w: f32[{1}, {2}] = random 1\n"
        "weight v: f32[1, {2}] = random 2\ngraph g(x: f32[T, {0}, {2}], s: f32[2, {0}, {1}, 2]) -> "
        "(y: f32[T, 1, {0}, {1}], "
        "l: f32[1, {0}, {1}], m: f32[1, {0}, {1}]) {{\n{3}"
        "  n = expand(range() start=T end=(T + 1) dtype=i32) shape=[{0}]\n"
        "  p = expand(0.0) shape=[1, {4}]\n"
        "  y, l, m = lstm(x, {5}, v, n, h, c, p)\n  return y, l, m\n}}\n",
        batch, hidden, 4 * hidden, states, 3 * hidden, weights);
  };
  const std::string whole = "reshape(w) shape=[1, 64, 256]";
  // Elements of a state lie apart, where it is one of two numbers in the last axis.
  const std::string parts =
      "  u = reshape(slice(s) axes=[0, 3] starts=[0, 1] ends=[1, 2]) shape=[1, {0}, 64]\n"
      "  h = u\n  c = u\n";
  const std::string same =
      "  e = reshape(slice(s) axes=[0, 1, 2, 3] ends=[1, 1, 1, 1]) shape=[1, 1, 1]\n"
      "  h = expand(e) shape=[1, {0}, 64]\n  c = h\n";
  const auto check = [&](const std::string& batch, const std::string& states) {
    CAPTURE(batch);
    CAPTURE(states);
    const std::string text = lstm(batch, 64, fmt::format(fmt::runtime(states), batch), whole);
    CAPTURE(text);
    CHECK(load(text).load_report().kernels_compiled == 0);
  };
  for (const std::string batch : {"N", "1", "3"}) {
    check(batch, parts);
    check(batch, same);
  }
}
