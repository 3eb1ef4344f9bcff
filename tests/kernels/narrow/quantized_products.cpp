// Products of f32 by weights in precision "i8", beside plain loops over both factors as they are
// quantised: rows of a matrix, or images, and columns of the weights, each by its greatest
// magnitude, or weights in codes of 4 bits.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/narrow/unit_products.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr const char* layer_text =
    "dyn 1\ndim M in 0..5000\ngraph g(x: f32[M, {0}]) -> (y: f32[M, {1}]) {{\n"
    "  y = matmul(x, w: f32[{2}]){3}\n  return y\n}}\n";

std::string quantized_layer(std::int64_t k, std::int64_t n, bool turned) {
  return fmt::format(layer_text, k, n,
                     turned ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n),
                     turned ? " transpose_b=true" : "");
}

/// Elements of one row or image become what stands for them.
void quantize_together(float* first, std::size_t count) {
  float reach = 0;
  for (std::size_t i = 0; i < count; ++i) reach = std::max(reach, std::fabs(first[i]));
  const float bounded = std::max(reach, 1e-30F), steps = 127 / bounded;
  for (std::size_t i = 0; i < count; ++i)
    first[i] = std::nearbyint(first[i] * steps) * bounded * (1.0F / 127);
}

/// The same for each of `n` columns of weights.
void quantize_columns(std::vector<float>& w, std::int64_t n) {
  const auto width = static_cast<std::size_t>(n);
  for (std::size_t column = 0; column < width; ++column) {
    float reach = 0;
    for (std::size_t i = column; i < w.size(); i += width) reach = std::max(reach, std::fabs(w[i]));
    const float scale = reach / 127;
    for (std::size_t i = column; i < w.size() && scale > 0; i += width)
      w[i] = std::nearbyint(w[i] / scale) * scale;
  }
}

std::vector<float> random_row(std::int64_t count, Random& random) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(random.real(-0.7, 1)));
  return values;
}

/// One sum, and the sum of its terms' magnitudes.
struct ExactSum {
  double sum = 0, scale = 0;
  void add(float a, float b) { sum += double{a} * b, scale += std::fabs(double{a} * b); }
  bool is_near(float found) const { return std::fabs(found - sum) <= 1e-5 * scale + 1e-7; }
};

Options in_bytes(const std::string& isa, Random& random) {
  Options options = test_options(isa);
  options.random_weights = true;
  options.precision = "i8";
  options.threads = static_cast<int>(random.integer(1, 3));
  if (random.chance(0.5)) {
    constexpr int groups[] = {16, 32, 64, 128, 256};
    options.weights = "i4";
    options.weight_group = random.pick(groups);
  }
  return options;
}

/// The numbers that stand for the weights of a layer of k x n.
std::vector<float> kept_weights(const std::string& text, std::int64_t k, std::int64_t n,
                                Options options) {
  options.precision = "f32";
  std::vector<float> weights = weights_in(Graph::from_text(text, options), k);
  if (options.weights.empty()) quantize_columns(weights, n);
  return weights;
}

Options in_floats(Options options) {
  options.precision = "f32";
  options.weights.clear();
  return options;
}

void check_matmul(const Options& options, Random& random) {
  constexpr std::int64_t depths[] = {4, 12, 36, 64, 100, 640, 4100},
                         widths[] = {1, 15, 16, 33, 64, 130}, heights[] = {0, 1, 2, 5, 14, 61};
  const std::int64_t k = random.pick(depths), n = random.pick(widths), m = random.pick(heights);
  const std::string text = quantized_layer(k, n, random.chance(0.4));
  CAPTURE(text);
  CAPTURE(m);
  const std::vector<float> w = kept_weights(text, k, n, options);
  std::vector<float> x = random_row(m * k, random);
  if (m > 1) std::fill_n(x.begin(), k, 0.0F);
  const std::vector<float> y = product(Graph::from_text(text, options), x, k);
  for (std::int64_t row = 0; row < m; ++row)
    quantize_together(x.data() + row * k, static_cast<std::size_t>(k));
  for (std::int64_t i = 0; i < m * n; ++i) {
    ExactSum exact;
    for (std::int64_t j = 0; j < k; ++j)
      exact.add(x[static_cast<std::size_t>(i / n * k + j)],
                w[static_cast<std::size_t>(j * n + i % n)]);
    INFO("element ", i);
    REQUIRE(exact.is_near(y[static_cast<std::size_t>(i)]));
  }
}

/// Windows of 2 x 2, with padding.
void check_images(const Options& options, Random& random) {
  const std::int64_t c = 4 * random.integer(1, 9), o = random.integer(1, 70),
                     h = random.integer(2, 9), images = random.integer(1, 3);
  const std::string text = fmt::format(
      "dyn 1\ndim B in 1..9\ndim H in 2..40\n"
      "graph g(x: f32[B, H, 5, {0}]) -> (y: f32[B, H, 5, {1}]) {{\n"
      "  f = reshape(w: f32[{2}, {1}]) shape=[2, 2, {0}, {1}]\n"
      "  y = conv(x, f) before=[1, 0] after=[0, 1]\n  return y\n}}\n",
      c, o, 4 * c);
  CAPTURE(text);
  const std::vector<float> w = kept_weights(quantized_layer(4 * c, o, false), 4 * c, o, options);
  std::vector<float> x = random_row(images * h * 5 * c, random);
  const Outputs outputs =
      Graph::from_text(text, options).run({{"x", Tensor::view(x, {images, h, 5, c})}});
  const auto y = outputs["y"].data<float>();
  for (std::int64_t image = 0; image < images; ++image)
    quantize_together(x.data() + image * h * 5 * c, static_cast<std::size_t>(h * 5 * c));
  for (std::int64_t i = 0; i < images * h * 5 * o; ++i) {
    const std::int64_t column = i / o % 5, row = i / o / 5 % h, image = i / o / 5 / h;
    ExactSum exact;
    for (std::int64_t k = 0; k < 4 * c; ++k) {
      const std::int64_t at_row = row + k / c / 2 - 1, at_column = column + k / c % 2;
      if (at_row < 0 || at_column >= 5) continue;
      exact.add(x[static_cast<std::size_t>(((image * h + at_row) * 5 + at_column) * c + k % c)],
                w[static_cast<std::size_t>(k * o + i % o)]);
    }
    INFO("element ", i);
    REQUIRE(exact.is_near(y[static_cast<std::size_t>(i)]));
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("precision i8: sums that no i32 holds are computed in f32") {
    Random random("long sums");
    Options options = in_bytes("", random);
    options.random_weights = false;
    options.weights.clear();
    for (const std::int64_t depth : {std::int64_t{132'096}, std::int64_t{400'000}}) {
      const Graph graph = Graph::from_text(
          fmt::format("dyn 1\ndim M in 1..9\nweight w: f32[{0}, 2] = splat 1\n"
                      "graph g(x: f32[M, {0}]) -> (y: f32[M, 2]) {{\n  y = matmul(x, w)\n"
                      "  return y\n}}\n",
                      depth),
          options);
      const std::vector<float> x(static_cast<std::size_t>(2 * depth), 1.0F);
      for (const float y : product(graph, x, depth))
        CHECK(y == doctest::Approx(static_cast<double>(depth)).epsilon(1e-5));
    }
  }

  TEST_CASE("precision i8: a weight that is read in two shapes has columns of both") {
    Random random("weights in two shapes");
    const std::string text =
        "dyn 1\ndim M in 1..99\n"
        "graph g(x: f32[M, 8], z: f32[M, 16]) -> (y: f32[M, 12], v: f32[M, 6]) {\n"
        "  y = matmul(x, w: f32[8, 12])\n  u = reshape(w) shape=[16, 6]\n  v = matmul(z, u)\n"
        "  return y, v\n}\n";
    Options options = in_bytes("", random);
    options.weights.clear();
    const std::vector<float> x = random_row(5 * 8, random), z = random_row(5 * 16, random);
    const NamedTensors inputs{{"x", Tensor::view(x, {5, 8})}, {"z", Tensor::view(z, {5, 16})}};
    const Outputs found = Graph::from_text(text, options).run(inputs),
                  exact = Graph::from_text(text, in_floats(options)).run(inputs);
    for (const char* name : {"y", "v"}) {
      CAPTURE(name);
      const auto values = found[name].data<float>(), wanted = exact[name].data<float>();
      float largest = 0, worst = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        largest = std::max(largest, std::fabs(wanted[i]));
        worst = std::max(worst, std::fabs(values[i] - wanted[i]));
      }
      CHECK(worst <= 0.03F * largest);
    }
  }

  TEST_CASE("precision i8: every instruction set, rows and images have scales of their own") {
    Random random("quantized products");
    for_each_isa(test_rounds(30, 3), [&](const codegen::Isa& isa) {
      const Options options = in_bytes(isa.name, random);
      if (random.chance(0.6))
        check_matmul(options, random);
      else
        check_images(options, random);
    });
  }
}

}  // namespace dyn::testing
