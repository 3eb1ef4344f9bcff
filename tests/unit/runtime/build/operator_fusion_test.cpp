// Operators that the program defines are parts of their neighbours' kernels, with the numbers of
// plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dyn/dyn.hpp"
#include "dyn/functions.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

constexpr std::int64_t terms = 24, units = 40;

double plain_swish(double x, double alpha) { return x / (1 + std::exp(-alpha * x)); }

Operator swish_by_expression() {
  return {.domain = "my",
          .name = "swish",
          .inputs = {"x"},
          .attributes = {{"alpha", 1.0}},
          .expression = "x * sigmoid(alpha * x)"};
}

Operator swish_by_definition() {
  return {.domain = "my",
          .name = "swish",
          .inputs = {"x"},
          .attributes = {{"alpha", 1.0}},
          .definition = [](Builder&, const Values& inputs, const NodeAttributes& node) {
            const Value& x = inputs[0];
            return Values{x * sigmoid(x * node.number("alpha"))};
          }};
}

Operator swish_by_kernel() {
  return {.domain = "my",
          .name = "swish",
          .inputs = {"x"},
          .attributes = {{"alpha", 1.0}},
          .shape = [](const ShapeContext& node) { return node.inputs(); },
          .kernel =
              [](const KernelContext& node) {
                const double alpha = node.attributes().number("alpha");
                const std::span<const float> x = node.inputs()[0].data<float>();
                const std::span<float> y = node.outputs()[0].mutable_data<float>();
                for (std::size_t i = 0; i < x.size(); ++i)
                  y[i] = static_cast<float>(plain_swish(x[i], alpha));
              }};
}

/// relu(swish(x * w + 0.5)).
Builder dense(const Operators& operators, const std::vector<float>& weights) {
  Builder b("dense", operators);
  const Value x = b.input("x", DType::f32, {b.dim("N", 1, 64), terms});
  const Value w = b.weight("w", Tensor::from<float>(weights, {terms, units}));
  b.output("y", relu(b.op("my::swish", {matmul(x, w) + 0.5}, {{"alpha", 1.5}})));
  return b;
}

}  // namespace

TEST_CASE("an expression or a definition is part of a matmul's kernel; a host kernel is its own") {
  const std::vector<float> weights = testing::random_values(terms * units, 5);
  struct Case {
    Operator swish;
    std::size_t kernels;
  };
  // The third: matmul and addition, the kernel of the program, and relu.
  for (const Case& each : {Case{swish_by_expression(), 1}, Case{swish_by_definition(), 1},
                           Case{swish_by_kernel(), 3}}) {
    Builder b = dense({each.swish}, weights);
    const Graph graph = b.load(testing::uncached());
    CHECK(graph.kernels().size() == each.kernels);
    for (const std::int64_t rows : {1, 37}) {
      const std::vector<float> x =
          testing::random_values(static_cast<std::size_t>(rows * terms), 9);
      const Outputs outputs = graph.run({{"x", Tensor::view(x, {rows, terms})}});
      const std::span<const float> y = outputs["y"].data<float>();
      double worst = 0;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < units; ++c) {
          double sum = 0.5, size = 0.5;
          for (std::int64_t k = 0; k < terms; ++k) {
            const double product = static_cast<double>(x[static_cast<std::size_t>(r * terms + k)]) *
                                   weights[static_cast<std::size_t>(k * units + c)];
            sum += product;
            size += std::abs(product);
          }
          const double expected = std::max(0.0, plain_swish(sum, 1.5));
          const double got = y[static_cast<std::size_t>(r * units + c)];
          worst = std::max(worst, std::abs(got - expected) / size);
        }
      // Each of 24 sums, and of the few operations behind them, rounds once; swish is no steeper
      // than 1.1.
      CHECK(worst <= 40 * std::ldexp(1.0, -24));
    }
  }
}

TEST_CASE("element-wise operators around an expression are one kernel, with its broadcast inputs") {
  const Operator gate{.domain = "my",
                      .name = "gate",
                      .inputs = {"x", "g"},
                      .attributes = {{"shift", 0.25}},
                      .expression = "sigmoid(x) * g + shift"};
  Options options = testing::uncached();
  options.operators = {gate};
  const std::string text =
      "dyn 1\ndim N in 1..100\ndim M in 1..100\n"
      "graph g(x: f32[N, M], g: f32[M]) -> (y: f32[N, M]) {\n"
      "  y = tanh(my::gate(x - 1.0, g) shift=0.5)\n  return y\n}\n";
  const Graph graph = Graph::from_text(text, options);
  CHECK(graph.kernels().size() == 1);
  for (const Shape& shape : {Shape{1, 7}, Shape{9, 33}}) {
    const auto width = static_cast<std::size_t>(shape[1]),
               rows = static_cast<std::size_t>(shape[0]);
    const std::vector<float> x = testing::random_values(rows * width, 3),
                             g = testing::random_values(width, 4);
    const Outputs outputs =
        graph.run({{"x", Tensor::view(x, shape)}, {"g", Tensor::view(g, {shape[1]})}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double gated = g[i % width] / (1 + std::exp(1 - static_cast<double>(x[i]))) + 0.5;
      CHECK(outputs["y"].data<float>()[i] == doctest::Approx(std::tanh(gated)).epsilon(1e-6));
    }
  }
}
