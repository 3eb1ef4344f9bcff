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
