// Weights in codes of 4 bits (Options::weights "i4"): what they are is read from products with unit
// rows, is compared with the weights of the model, and multiplied by plain loops. Codes of a file,
// of 4 and 8 bits, beside the reference.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "dyn/graph.hpp"
#include "src/base/rounding.hpp"
#include "tests/kernels/compare.hpp"
#include "tests/kernels/narrow/unit_products.hpp"
#include "tests/support/seed.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t code_depths[] = {1, 5, 8, 31, 32, 33, 40, 64, 100, 257, 512, 1100};
constexpr std::int64_t code_widths[] = {1, 2, 15, 16, 17, 32, 33, 48, 65, 130, 300};
constexpr std::int64_t code_heights[] = {0, 1, 2, 3, 6, 13, 14, 29, 61, 140};
constexpr int code_groups[] = {16, 32, 64, 128, 256};

/// One layer; its weight lies as it is, or turned.
struct CodedLayer {
  std::int64_t k, n;
  bool turned;

  std::string text(const std::string& epilogue) const {
    return fmt::format(
        "dyn 1\ndim M in 0..9000\ngraph g(x: f32[M, {0}]) -> (y: f32[M, {1}]) {{\n"
        "  s = matmul(x, w: f32[{2}]){3}\n  y = {4}\n  return y\n}}\n",
        k, n, turned ? fmt::format("{}, {}", n, k) : fmt::format("{}, {}", k, n),
        turned ? " transpose_b=true" : "", epilogue);
  }
};

/// Each is at most half a step from what it was, or a whole one where it is the last on its side. A
/// scale is off by half a unit of f16's 11 bits at most, and eight of it by eight times that.
void check_codes(const std::vector<float>& kept, const std::vector<float>& given,
                 const CodedLayer& layer, std::int64_t group) {
  double missing = 0, all = 0;
  for (std::int64_t n = 0; n < layer.n; ++n) {
    for (std::int64_t first = 0; first < layer.k; first += group) {
      const std::int64_t end = std::min(layer.k, first + group);
      const auto at = [&](const std::vector<float>& weights, std::int64_t k) {
        return static_cast<double>(weights[static_cast<std::size_t>(k * layer.n + n)]);
      };
      double largest = 0;
      for (std::int64_t k = first; k < end; ++k)
        largest = std::max(largest, std::fabs(at(given, k)));
      for (std::int64_t k = first; k < end; ++k) {
        const double error = std::fabs(at(kept, k) - at(given, k));
        INFO("weight ", k, ", ", n, ": ", at(kept, k), " instead of ", at(given, k));
        REQUIRE(error <= largest / 8 * (1 + 8 * 0x1p-11) + 1e-12);
        missing += error * error;
        all += at(given, k) * at(given, k);
      }
    }
  }
  if (layer.k * layer.n > 1000) CHECK(missing <= 0.02 * all);
}

void check_products(const Graph& graph, const std::vector<float>& kept, const CodedLayer& layer,
                    std::int64_t rows, Random& random) {
  // Those that bf16 holds too, for products in it.
  std::vector<float> x;
  for (std::int64_t i = 0; i < rows * layer.k; ++i)
    x.push_back(static_cast<float>(random.integer(-90, 127)) / 128);
  const std::vector<float> y = product(graph, x, layer.k);
  REQUIRE(y.size() == static_cast<std::size_t>(rows * layer.n));
  for (std::int64_t m = 0; m < rows; ++m) {
    for (std::int64_t n = 0; n < layer.n; ++n) {
      double sum = 0, scale = 0;
      for (std::int64_t k = 0; k < layer.k; ++k) {
        const double term = static_cast<double>(x[static_cast<std::size_t>(m * layer.k + k)]) *
                            static_cast<double>(kept[static_cast<std::size_t>(k * layer.n + n)]);
        sum += term, scale += std::fabs(term);
      }
      INFO("element ", m, ", ", n);
      REQUIRE(std::fabs(static_cast<double>(y[static_cast<std::size_t>(m * layer.n + n)]) -
                        std::max(sum, 0.0)) <= 1e-5 * scale + 1e-7);
    }
  }
}

void check_layer(const CodedLayer& layer, Options options, Random& random) {
  const std::int64_t rows = random.pick(code_heights);
  const std::string text = layer.text("relu(s)");
  CAPTURE(text);
  CAPTURE(rows);
  CAPTURE(options.weight_group);
  options.random_weights = true;
  Options in_floats = options;
  in_floats.precision = "f32";
  const std::vector<float> kept =
      weights_in(Graph::from_text(layer.text("s * 1"), in_floats), layer.k);
  const Graph coded = Graph::from_text(text, options);
  check_products(coded, kept, layer, rows, random);
  in_floats.weights = "f32";
  const Graph plain = Graph::from_text(layer.text("s * 1"), in_floats);
  check_codes(kept, weights_in(plain, layer.k), layer, options.weight_group);
  if (layer.k % options.weight_group == 0 && layer.k >= 256 && layer.n >= 64)
    CHECK(coded.load_report().weight_bytes * 4 < plain.load_report().weight_bytes);
}

/// To the last bits of the largest elements.
void check_close_to(const Tensor& actual, const Tensor& expected) {
  const auto found = actual.data<float>(), wanted = expected.data<float>();
  REQUIRE(found.size() == wanted.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::fabs(double{wanted[i]}));
    worst = std::max(worst, std::fabs(double{found[i]} - wanted[i]));
  }
  CHECK(worst <= 1e-5 * largest);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("weights of 4 bits: every instruction set, random sizes and groups") {
    Random random("coded weights");
    for_each_isa(test_rounds(40, 3), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.weights = "i4";
      options.weight_group = random.pick(code_groups);
      if (random.chance(0.3)) options.precision = "bf16";
      options.threads = static_cast<int>(random.integer(1, 3));
      options.deterministic = random.chance(0.3);
      CodedLayer layer{random.pick(code_depths), random.pick(code_widths), random.chance(0.4)};
      if (random.chance(0.1)) layer = {8000, random.integer(1, 40), false};  // cut along K
      check_layer(layer, options, random);
    });
  }

  TEST_CASE("codes of a file are multiplied as they lie, and computed where they are no weights") {
    Random random("codes of files");
    for_each_isa(test_rounds(40, 3), [&](const codegen::Isa& isa) {
      Options options = test_options(isa.name);
      options.random_weights = true;
      options.threads = static_cast<int>(random.integer(1, 3));
      constexpr std::int64_t blocks_of[] = {16, 32, 64, 20};  // the last is no block of panels
      const std::int64_t block = random.pick(blocks_of), count = random.integer(1, 9),
                         k = block * count - random.integer(0, block - 1),
                         n = random.pick(code_widths);
      const std::string scale = random.chance(0.5) ? "f16" : "f32";
      const bool has_zeros = random.chance(0.5), are_inputs = random.chance(0.3);
      const std::int64_t bits = random.chance(0.5) ? 4 : 8, bytes = block * bits / 8;
      constexpr DType lefts[] = {DType::f32, DType::u8, DType::i16};
      const DType left = random.pick(lefts);
      const std::int64_t zero = left == DType::u8    ? random.integer(0, 255)
                                : left == DType::i16 ? random.integer(-300, 300)
                                                     : 0;
      if (!are_inputs && left == DType::f32 && block != 20 && random.chance(0.4))
        options.precision = "bf16";
      const std::string codes = fmt::format("c: u8[{}, {}, {}]", n, count, bytes),
                        scales = fmt::format("s: {}[{}, {}]", scale, n, count),
                        zeros = has_zeros ? fmt::format("z: u8[{}, {}]", n, count) : "";
      const std::string inputs =
          are_inputs ? fmt::format(", {}, {}{}{}", codes, scales, has_zeros ? ", " : "", zeros)
                     : "";
      const std::string text = fmt::format(
          "dyn 1\ndim M in 0..999\ngraph g(x: {7}[M, {0}]{1}) -> (y: f32[M, {2}]) {{\n"
          "  w = unpack_blocks({3}, {4}{5}{6}) size={0} bits={9}\n"
          "  y = matmul(x, w) transpose_b=true zero={8}\n  return y\n}}\n",
          k, inputs, n, are_inputs ? "c" : codes, are_inputs ? "s" : scales, has_zeros ? ", " : "",
          are_inputs && has_zeros ? "z" : zeros, name_of(left), zero, bits);
      CAPTURE(text);
      const Graph graph = Graph::from_text(text, options);
      Tensor x(left, {random.pick(code_heights), k}), c(DType::u8, {n, count, bytes}),
          s(scale == "f16" ? DType::f16 : DType::f32, {n, count}), z(DType::u8, {n, count});
      fill(x, left == DType::u8 ? uniform(0, 255) : uniform(-200, 300), random);
      // Those that bf16 holds too.
      if (left == DType::f32)
        for (float& each : x.mutable_data<float>())
          each = static_cast<float>(random.integer(-128, 255)) / 128;
      fill(c, uniform(0, 255), random);
      fill(s, uniform(-0.1, 0.2), random), fill(z, uniform(0, bits == 4 ? 15 : 255), random);
      NamedTensors given{{"x", x}};
      if (are_inputs) given.insert(given.end(), {{"c", c}, {"s", s}});
      if (are_inputs && has_zeros) given.push_back({"z", z});
      Options reference = on_reference(options);
      reference.precision = "f32";
      check_close_to(graph.run(given)["y"], Graph::from_text(text, reference).run(given)["y"]);
      const bool is_kept = !(left == DType::u8 && bits == 8 && has_zeros);
      if (!are_inputs && is_kept && block != 20 && k >= 64 && n >= 32)
        CHECK(graph.load_report().weight_bytes <
              static_cast<std::size_t>(round_up(n, 32) * (k + block) * (bits + 4) / 4));
    });
  }

  TEST_CASE("a zero point that is no code of 4 bits is refused") {
    Options options = test_options();
    options.random_weights = false;
    const auto load = [&](int zero) {
      Graph::from_text(
          fmt::format("dyn 1\ndim M\nweight z: u8[32, 2] = splat {}\n"
                      "weight c: u8[32, 2, 16] = splat 17\nweight s: f32[32, 2] = splat 1\n"
                      "graph g(x: f32[M, 64]) -> (y: f32[M, 32]) {{\n"
                      "  w = unpack_blocks(c, s, z) size=64\n"
                      "  y = matmul(x, w) transpose_b=true\n  return y\n}}\n",
                      zero),
          options);
    };
    CHECK_NOTHROW(load(15));
    CHECK_THROWS_WITH_AS(load(16), doctest::Contains("zero point"), Error);
  }

  TEST_CASE("codes of a file that lie across the sums are numbers like others") {
    Random random("codes across");
    for (const std::string weights : {"", "i4"}) {
      CAPTURE(weights);
      const std::int64_t k = random.integer(33, 90), n = 32 * random.integer(1, 4);
      const std::string text = fmt::format(
          "dyn 1\ndim M in 0..999\ngraph g(x: f32[M, {0}]) -> (y: f32[M, {1}]) {{\n"
          "  w = unpack_blocks(c: u8[{0}, {2}, 16], s: f16[{0}, {2}]) size={1}\n"
          "  y = matmul(x, w)\n  return y\n}}\n",
          k, n, n / 32);
      Options options = test_options();
      options.random_weights = true;
      const CodedLayer layer{k, n, false};
      const std::vector<float> given = weights_in(Graph::from_text(text, options), k);
      const Options reference = on_reference(options);
      CHECK(given == weights_in(Graph::from_text(text, reference), k));
      options.weights = weights;
      const std::vector<float> kept = weights_in(Graph::from_text(text, options), k);
      if (weights.empty())
        CHECK(kept == given);
      else
        check_codes(kept, given, layer, options.weight_group);
    }
  }

  TEST_CASE("a convolution by weights of 4 bits is the product of its windows") {
    Random random("coded windows");
    const int rounds = test_rounds(20, 3);
    for (int round = 0; round < rounds; ++round) {
      const std::int64_t c = random.integer(1, 40), o = random.integer(1, 70),
                         h = random.integer(3, 9), w = random.integer(3, 9);
      const std::string weight = fmt::format("w: f32[{}, {}]", 9 * c, o);
      Options options = test_options();
      options.random_weights = true;
      options.weights = "i4";
      const Graph conv = Graph::from_text(
          fmt::format("dyn 1\ndim H in 3..40\ndim W in 3..40\n"
                      "graph g(x: f32[1, H, W, {0}]) -> (y: f32[1, H - 2, W - 2, {1}]) {{\n"
                      "  f = reshape({2}) shape=[3, 3, {0}, {1}]\n  y = conv(x, f)\n"
                      "  return y\n}}\n",
                      c, o, weight),
          options);
      const std::vector<float> kept =
          weights_in(Graph::from_text(CodedLayer{9 * c, o, false}.text("s * 1"), options), 9 * c);
      std::vector<float> x;
      for (std::int64_t i = 0; i < h * w * c; ++i)
        x.push_back(static_cast<float>(random.real(-0.7, 1)));
      const Outputs outputs = conv.run({{"x", Tensor::view(x, {1, h, w, c})}});
      const auto y = outputs["y"].data<float>();
      for (std::int64_t i = 0; i < (h - 2) * (w - 2) * o; ++i) {
        const std::int64_t row = i / o / (w - 2), column = i / o % (w - 2), n = i % o;
        double sum = 0, scale = 0;
        for (std::int64_t k = 0; k < 9 * c; ++k) {
          const std::int64_t tap = k / c;
          const auto from =
              static_cast<std::size_t>(((row + tap / 3) * w + column + tap % 3) * c + k % c);
          const double term = static_cast<double>(x[from]) *
                              static_cast<double>(kept[static_cast<std::size_t>(k * o + n)]);
          sum += term, scale += std::fabs(term);
        }
        INFO("element ", i, " of ", h, " x ", w, " x ", c, " -> ", o, ", ", sum);
        REQUIRE(std::fabs(static_cast<double>(y[static_cast<std::size_t>(i)]) - sum) <=
                1e-5 * scale + 1e-7);
      }
    }
  }
}

}  // namespace dyn::testing
