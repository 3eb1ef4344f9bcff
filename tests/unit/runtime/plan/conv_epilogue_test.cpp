// Convolutions whose activation takes many instructions, at sizes where tiles are full, cut and
// masked, beside plain loops.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <vector>

#include "dyn/dyn.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/random_floats.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/load/support.hpp"

using dyn::Tensor;

namespace {

struct Conv {
  std::int64_t batch, height, width, channels, filters, size, stride;

  std::int64_t windows(std::int64_t extent) const { return (extent + 2 - size) / stride + 1; }
  std::string text() const {
    return fmt::format(
        "dyn 1\ndim H in 1..64\nweights \"w.safetensors\"\n"
        "graph g(x: f32[{0}, H, {1}, {2}]) -> (y: f32[{0}, _, _, {3}]) {{\n"
        "  c = conv(x, w: f32[{4}, {4}, {2}, {3}]) before=[1, 1] after=[1, 1] "
        "strides=[{5}, {5}] + b: f32[{3}]\n"
        "  y = c * sigmoid(c)\n  return y\n}}\n",
        batch, width, channels, filters, size, stride);
  }
};

std::string weights_file(const Conv& c, const std::vector<float>& w, const std::vector<float>& b) {
  const std::string header =
      fmt::format(R"({{"w":{{"dtype":"F32","shape":[{0},{0},{1},{2}],"data_offsets":[0,{3}]}},)"
                  R"("b":{{"dtype":"F32","shape":[{2}],"data_offsets":[{3},{4}]}}}})",
                  c.size, c.channels, c.filters, w.size() * 4, (w.size() + b.size()) * 4);
  return dyn::testing::safetensors_file(
      header, std::string(reinterpret_cast<const char*>(w.data()), w.size() * 4) +
                  std::string(reinterpret_cast<const char*>(b.data()), b.size() * 4));
}

double sum_at(const Conv& c, const std::vector<float>& x, const std::vector<float>& w,
              std::int64_t n, std::int64_t row, std::int64_t column, std::int64_t filter) {
  double sum = 0;
  for (std::int64_t i = 0; i < c.size; ++i) {
    for (std::int64_t j = 0; j < c.size; ++j) {
      const std::int64_t h = row * c.stride + i - 1, v = column * c.stride + j - 1;
      if (h < 0 || h >= c.height || v < 0 || v >= c.width) continue;
      for (std::int64_t k = 0; k < c.channels; ++k) {
        const std::int64_t in = ((n * c.height + h) * c.width + v) * c.channels + k;
        const std::int64_t weight = ((i * c.size + j) * c.channels + k) * c.filters + filter;
        sum += static_cast<double>(x[static_cast<std::size_t>(in)]) *
               w[static_cast<std::size_t>(weight)];
      }
    }
  }
  return sum;
}

std::vector<double> plain(const Conv& c, const std::vector<float>& x, const std::vector<float>& w,
                          const std::vector<float>& b) {
  std::vector<double> y;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t row = 0; row < c.windows(c.height); ++row)
      for (std::int64_t column = 0; column < c.windows(c.width); ++column)
        for (std::int64_t filter = 0; filter < c.filters; ++filter) {
          const double sum =
              sum_at(c, x, w, n, row, column, filter) + b[static_cast<std::size_t>(filter)];
          y.push_back(sum / (1 + std::exp(-sum)));
        }
  return y;
}

double worst_difference(const std::vector<double>& expected, std::span<const float> actual) {
  double worst = 0, largest = 1e-30;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::max(worst, std::fabs(expected[i] - static_cast<double>(actual[i])));
    largest = std::max(largest, std::fabs(expected[i]));
  }
  return worst / largest;
}

}  // namespace

TEST_CASE("a convolution with a long activation equals plain loops at every size of its tiles") {
  std::mt19937_64 random(dyn::testing::test_seed());
  const auto one_of = [&](std::initializer_list<std::int64_t> values) {
    return *(values.begin() + std::uniform_int_distribution<std::ptrdiff_t>(
                                  0, static_cast<std::ptrdiff_t>(values.size()) - 1)(random));
  };
  for (const dyn::codegen::Isa& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    for (int round = 0; round < dyn::testing::test_rounds(24, 2); ++round) {
      const Conv c{one_of({1, 2}),
                   std::uniform_int_distribution<std::int64_t>(1, 19)(random),
                   std::uniform_int_distribution<std::int64_t>(1, 19)(random),
                   one_of({1, 3, 8, 17, 32}),
                   one_of({1, 7, 8, 9, 16, 17, 31, 32, 33, 64, 70}),
                   one_of({1, 2, 3}),
                   one_of({1, 2})};
      CAPTURE(isa.name);
      CAPTURE(c.text());
      CAPTURE(c.height);
      const std::vector<float> x = dyn::testing::random_floats(
                                   random, c.batch * c.height * c.width * c.channels),
                               w = dyn::testing::random_floats(
                                   random, c.size * c.size * c.channels * c.filters),
                               b = dyn::testing::random_floats(random, c.filters);
      dyn::Options options;
      options.device = "cpu";
      options.isa = isa.name;
      options.threads = static_cast<int>(one_of({1, 2}));
      options.cache_dir = "none";
      const std::string file = weights_file(c, w, b);
      const auto outputs =
          dyn::Graph::from_memory(c.text(), {{"w.safetensors", file}}, options)
              .run({{"x", Tensor::view(x.data(), {c.batch, c.height, c.width, c.channels})}});
      const std::vector<double> expected = plain(c, x, w, b);
      const std::span<const float> y = outputs["y"].data<float>();
      REQUIRE(y.size() == expected.size());
      CHECK(worst_difference(expected, y) < 2e-6);
    }
  }
}
