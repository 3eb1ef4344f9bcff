// Products of bf16 by constant f32, which counts in bf16, and models of bf16, beside the reference,
// on every instruction set of this CPU: where it has no instruction for them they are computed in
// f32.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/support/half.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

struct BfloatProduct {
  std::string text;
  std::vector<std::int64_t> shape;  ///< of x
  double terms;                     ///< of one sum
};

BfloatProduct bfloat_matmul(Random& random) {
  constexpr std::int64_t depths[] = {4, 7, 8, 36, 130, 256, 1024};
  const std::int64_t k = random.pick(depths), n = random.integer(1, 130), m = random.integer(0, 70);
  const bool transposes = random.chance(0.5);
  return {fmt::format("dyn 1\ndim M in 0..99\ngraph g(x: bf16[M, {0}]) -> (y: f32[M, {1}]) {{\n"
                      "  y = relu(matmul(x, w: f32[{2}]){3} + b: f32[{1}])\n  return y\n}}\n",
                      k, n, transposes ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n),
                      transposes ? " transpose_b=true" : ""),
          {m, k},
          static_cast<double>(k)};
}

BfloatProduct bfloat_conv(Random& random) {
  constexpr std::int64_t channels[] = {3, 4, 20, 64};
  const std::int64_t c = random.pick(channels), o = random.integer(1, 70);
  return {fmt::format("dyn 1\ndim H in 3..40\ngraph g(x: bf16[2, H, 9, {0}]) -> (y: f32[2, H, 9, "
                      "{1}]) {{\n  y = conv(x, w: f32[3, 3, {0}, {1}]) before=[1, 1] after=[1, 1]\n"
                      "  return y\n}}\n",
                      c, o),
          {2, random.integer(3, 17), 9, c},
          static_cast<double>(9 * c)};
}

/// All in bf16: by a weight, by a matrix that arrives with the call, or a convolution.
struct BfloatModel {
  std::string text;
  std::vector<std::int64_t> shape, factor;  ///< of x, and of v where there is one
  double terms;
};

BfloatModel bfloat_model(Random& random) {
  constexpr std::int64_t depths[] = {1, 3, 4, 7, 36, 129, 256};
  const std::int64_t k = random.pick(depths), n = random.integer(1, 130), m = random.integer(0, 70);
  const std::string rest = random.chance(0.5) ? "relu(t + b: bf16[1])" : "t";
  BfloatModel model{.text = "", .shape = {m, k}, .factor = {}, .terms = static_cast<double>(k)};
  const bool turned = random.chance(0.4), known = random.chance(0.5);
  const std::string depth = known ? fmt::format("{}", k) : "K",
                    matrix = turned ? "N, " + depth : depth + ", N",
                    turn = turned ? " transpose_b=true" : "";
  if (random.chance(0.3)) {
    model.shape = {2, random.integer(3, 9), 9, std::min<std::int64_t>(k, 36)};
    model.terms = static_cast<double>(9 * model.shape[3]);
    model.text = fmt::format(
        "dyn 1\ndim H in 3..40\ngraph g(x: bf16[2, H, 9, {0}]) -> (y: bf16[2, H, 9, {1}]) {{\n"
        "  t = conv(x, w: bf16[3, 3, {0}, {1}]) before=[1, 1] after=[1, 1]\n  y = {2}\n",
        model.shape[3], n, rest);
  } else if (random.chance(0.5)) {
    model.factor = turned ? std::vector{n, k} : std::vector{k, n};
    model.text = fmt::format(
        "dyn 1\ndim M\ndim N\ndim K in 1..999\n"
        "graph g(x: bf16[M, {}], v: bf16[{}]) -> (y: bf16[M, N]) {{\n"
        "  t = matmul(x, v){}\n  y = {}\n",
        depth, matrix, turn, rest);
  } else {
    const std::string weight = turned ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n);
    model.text = fmt::format(
        "dyn 1\ndim M\ngraph g(x: bf16[M, {}]) -> (y: bf16[M, {}]) {{\n"
        "  t = matmul(x, w: bf16[{}]){}\n  y = {}\n",
        k, n, weight, turn, rest);
  }
  model.text += "  return y\n}\n";
  return model;
}

Tensor bfloats(std::vector<std::int64_t> shape, double low, double high, Random& random) {
  Tensor tensor(DType::bf16, std::move(shape));
  fill(tensor, uniform(low, high), random);
  return tensor;
}

void check_bfloat_model(const BfloatModel& model, const Options& options, Random& random) {
  CAPTURE(model.text);
  NamedTensors inputs{{"x", bfloats(model.shape, -3, 5, random)}};
  if (!model.factor.empty()) inputs.emplace_back("v", bfloats(model.factor, -0.2, 0.1, random));
  const Tensor found = Graph::from_text(model.text, options).run(inputs)["y"],
               expected = Graph::from_text(model.text, on_reference(options)).run(inputs)["y"];
  REQUIRE(found.shape() == expected.shape());
  const auto number = [](const Tensor& of, std::int64_t i) {
    return half_value(DType::bf16, static_cast<const std::uint16_t*>(of.raw())[i]);
  };
  double excess = 0;  // beyond what two roundings may move, and what f32 does to a sum
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const double wanted = number(expected, i);
    excess = std::max(excess, std::abs(number(found, i) - wanted) - 0x1p-6 * std::abs(wanted));
  }
  CHECK(excess <= 1e-4 * std::sqrt(model.terms));
}

void check_bfloats(const BfloatProduct& product, const Options& options, Random& random) {
  CAPTURE(product.text);
  const Graph graph = Graph::from_text(product.text, options),
              reference = Graph::from_text(product.text, on_reference(options));
  Tensor x(DType::bf16, product.shape);
  fill(x, uniform(-3, 5), random);
  const NamedTensors inputs{{"x", x}};
  const Outputs found = graph.run(inputs), expected = reference.run(inputs);
  const auto of = [](const Outputs& outputs) { return outputs["y"].data<float>(); };
  REQUIRE(of(found).size() == of(expected).size());
  double worst = 0;
  for (std::size_t i = 0; i < of(found).size(); ++i)
    worst = std::max(worst, std::abs(double{of(found)[i]} - double{of(expected)[i]}));
  // Weights have a spread of one over the root of the terms.
  CHECK(worst <= 5e-6 * std::sqrt(product.terms));
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("products of bf16: both factors are rounded, and sums are f32") {
    Random random("bfloat products");
    for_each_isa(test_rounds(60, 3), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.random_weights = true;
      check_bfloats(random.chance(0.6) ? bfloat_matmul(random) : bfloat_conv(random), options,
                    random);
    });
  }

  TEST_CASE("models of bf16 are multiplied in it: weights, other matrices, every depth") {
    Random random("bfloat models");
    for_each_isa(test_rounds(90, 4), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.random_weights = true;
      options.threads = static_cast<int>(random.integer(1, 2));
      check_bfloat_model(bfloat_model(random), options, random);
    });
  }

  TEST_CASE("precision f16: both factors are rounded to it, sums are f32") {
    Random random("f16 products");
    for_each_isa(test_rounds(20, 3), [&](const codegen::Isa& isa) {
      if (!codegen::can_widen(isa, DType::f16)) return;
      const std::int64_t k = random.integer(3, 300), n = random.integer(1, 90), m = 5;
      const auto model = [&](const char* left, const char* right) {
        return fmt::format(
            "dyn 1\ndim M\ngraph g(x: f32[M, {0}]) -> (y: f32[M, {1}]) {{\n"
            "  y = matmul({2}, {3}) + 1\n  return y\n}}\n",
            k, n, left, fmt::format(fmt::runtime(right), fmt::format("w: f32[{}, {}]", k, n)));
      };
      Options options = test_options(isa.name);
      options.random_weights = true;
      const std::string rounded =
          model("cast(cast(x) dtype=f16) dtype=f32", "cast(cast({}) dtype=f16) dtype=f32");
      Tensor x(DType::f32, {m, k});
      fill(x, uniform(-3, 5), random);
      const Tensor expected = Graph::from_text(rounded, on_reference(options)).run({{"x", x}})["y"];
      options.precision = "f16";
      const Tensor found = Graph::from_text(model("x", "{}"), options).run({{"x", x}})["y"];
      double worst = 0;
      for (std::int64_t i = 0; i < found.size(); ++i)
        worst = std::max(worst, std::abs(double{found.data<float>()[static_cast<std::size_t>(i)]} -
                                         expected.data<float>()[static_cast<std::size_t>(i)]));
      CHECK(worst <= 3e-6 * std::sqrt(static_cast<double>(k)));
    });
  }

  TEST_CASE("tensors between kernels are bf16 under that precision: residuals, and no counts") {
    Options options = test_options();
    options.precision = "bf16";
    options.random_weights = true;
    Options exact = options;
    exact.precision = "f32";
    const std::string residual =
        "dyn 1\ndim N in 1..99\ngraph g(x: f32[N, 64]) -> (y: f32[N, 64]) {\n"
        "  a = relu(matmul(x, u: f32[64, 64]))\n  b = relu(matmul(a, v: f32[64, 64])) + a\n"
        "  y = layer_norm(matmul(b, w: f32[64, 64]) + b, g: f32[64], h: f32[64])\n  return y\n}\n";
    Random random("bfloat tensors");
    Tensor x(DType::f32, {37, 64});
    fill(x, uniform(-1, 2), random);
    const Tensor found = Graph::from_text(residual, options).run({{"x", x}})["y"],
                 expected = Graph::from_text(residual, on_reference(exact)).run({{"x", x}})["y"];
    double worst = 0, largest = 0;
    for (std::size_t i = 0; i < found.data<float>().size(); ++i) {
      const double wanted = expected.data<float>()[i];
      worst = std::max(worst, std::abs(found.data<float>()[i] - wanted));
      largest = std::max(largest, std::abs(wanted));
    }
    CHECK(worst <= 0.02 * largest);
    const std::string count =
        "dyn 1\ndim N in 1..99\ngraph g(x: f32[N, 301, 24]) -> (y: i32[24]) {\n"
        "  y = cast(reduce_sum(reduce_sum(x) axes=[1] keepdims=false) axes=[0] keepdims=false) "
        "dtype=i32\n  return y\n}\n";
    Tensor ones(DType::f32, {5, 301, 24});
    fill(ones, uniform(1, 1), random);
    const Tensor counts = Graph::from_text(count, options).run({{"x", ones}})["y"];
    for (const std::int32_t each : counts.data<std::int32_t>()) CHECK(each == 5 * 301);
  }
}

}  // namespace dyn::testing
