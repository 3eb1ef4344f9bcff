// Models with tensors of narrow floats, and of integers of 4 and 2 bits.

#include <cmath>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "targets/reference/reference.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

constexpr DType codes[] = {DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz,
                           DType::f8e8m0,   DType::f4e2m1,     DType::i4,     DType::u4,
                           DType::i2,       DType::u2};

Graph codes_graph(const std::string& text, const std::string& device) {
  Options options;
  options.cache_dir = "none";
  options.threads = 2;
  options.device = device;
  return Graph::from_text(text, options);
}

std::int64_t low_bits(DType dtype, std::int64_t integer) {
  const std::int64_t count = dtype == DType::i4 || dtype == DType::u4 ? 16 : 4,
                     rest = (integer % count + count) % count;
  const bool is_signed = dtype == DType::i4 || dtype == DType::i2;
  return is_signed && rest >= count / 2 ? rest - count : rest;
}

bool is_integer_code(DType dtype) { return dtype >= DType::i4; }

/// As memory holds it.
std::uint8_t byte_of(DType dtype, float number) {
  return static_cast<std::uint8_t>(
      is_integer_code(dtype) ? low_bits(dtype, static_cast<std::int64_t>(std::trunc(number)))
                             : reference::nearest_code(dtype, static_cast<double>(number)));
}

double number_of(DType dtype, std::uint8_t byte) {
  if (!is_integer_code(dtype)) return reference::number_of_code(dtype, byte);
  return dtype == DType::i4 || dtype == DType::i2 ? static_cast<std::int8_t>(byte) : byte;
}

std::vector<float> random_numbers(DType dtype, std::size_t count, std::mt19937& random) {
  std::vector<float> numbers;
  std::uniform_int_distribution<int> exponent(-20, 18);
  std::uniform_real_distribution<float> fraction(-2, 2);
  while (numbers.size() < count) {
    const float wide = std::ldexp(fraction(random), exponent(random)), near = 8 * fraction(random);
    numbers.push_back(is_integer_code(dtype) ? near : wide);
  }
  return numbers;
}

}  // namespace

TEST_CASE("casts to and from narrow floats and short integers round to the nearest") {
  std::mt19937 random(20261125);
  for (const DType dtype : codes) {
    CAPTURE(name_of(dtype));
    const std::string text = fmt::format(
        "dyn 1\ndim N\ngraph g(x: f32[N]) -> (y: {0}[N], z: f32[N], w: f64[N], h: f16[N]) {{\n"
        "  y = cast(x) dtype={0}\n  z = cast(y) dtype=f32\n  w = cast(y) dtype=f64\n"
        "  h = cast(y) dtype=f16\n  return y, z, w, h\n}}\n",
        name_of(dtype));
    for (const char* device : {"cpu", "reference"}) {
      CAPTURE(device);
      const Graph graph = codes_graph(text, device);
      for (const std::size_t size :
           {std::size_t{0}, std::size_t{1}, std::size_t{37}, std::size_t{3000}}) {
        const std::vector<float> x = random_numbers(dtype, size, random);
        const Outputs outputs =
            graph.run({{"x", Tensor::view(x.data(), {static_cast<std::int64_t>(size)})}});
        const auto* y = static_cast<const std::uint8_t*>(outputs["y"].raw());
        const auto z = outputs["z"].data<float>();
        const auto w = outputs["w"].data<double>();
        CHECK(outputs["y"].dtype() == dtype);
        for (std::size_t i = 0; i < size; ++i) {
          CAPTURE(x[i]);
          const std::uint8_t expected = byte_of(dtype, x[i]);
          const double number = number_of(dtype, expected);
          const bool is_nan = std::isnan(number);
          if (is_nan)
            CHECK(std::isnan(number_of(dtype, y[i])));
          else
            CHECK(static_cast<int>(y[i]) == static_cast<int>(expected));
          CHECK((is_nan ? std::isnan(z[i]) : static_cast<double>(z[i]) == number));
          CHECK((is_nan ? std::isnan(w[i]) : w[i] == number));
        }
      }
    }
  }
}

TEST_CASE("operators that move elements move codes") {
  std::mt19937 random(7);
  for (const DType dtype : codes) {
    CAPTURE(name_of(dtype));
    const std::string text = fmt::format(
        "dyn 1\ndim N\ngraph g(x: {0}[3, N], i: i64[2]) -> (y: {0}[N, 4]) {{\n"
        "  t = transpose(x) perm=[1, 0]\n  p = gather(x, i) axis=0\n"
        "  q = slice(p) axes=[0] starts=[1] ends=[2]\n  y = concat(t, transpose(q) perm=[1, 0]) "
        "axis=1\n  return y\n}}\n",
        name_of(dtype));
    for (const char* device : {"cpu", "reference"}) {
      CAPTURE(device);
      const std::int64_t n = 21;
      std::vector<std::uint8_t> x;
      for (const float each : random_numbers(dtype, 3 * 21, random))
        x.push_back(byte_of(dtype, each));
      const std::vector<std::int64_t> indices{0, 2};
      const Outputs outputs = codes_graph(text, device)
                                  .run({{"x", Tensor::view(dtype, x.data(), {3, n})},
                                        {"i", Tensor::view(indices.data(), {2})}});
      const auto* y = static_cast<const std::uint8_t*>(outputs["y"].raw());
      for (std::size_t at = 0; at < 21; ++at) {
        for (std::size_t row = 0; row < 3; ++row)
          CHECK(static_cast<int>(y[at * 4 + row]) == static_cast<int>(x[row * 21 + at]));
        CHECK(static_cast<int>(y[at * 4 + 3]) == static_cast<int>(x[2 * 21 + at]));
      }
    }
  }
}

TEST_CASE("bit_cast keeps the bits") {
  const auto run = [](DType from, DType to, const void* data, const char* device) {
    const std::string text = fmt::format(
        "dyn 1\ndim N\ngraph g(x: {0}[N]) -> (y: {1}[N]) {{\n  y = bit_cast(x) "
        "dtype={1}\n  return y\n}}\n",
        name_of(from), name_of(to));
    const Outputs outputs = codes_graph(text, device).run({{"x", Tensor::view(from, data, {40})}});
    return std::string(static_cast<const char*>(outputs["y"].raw()), outputs["y"].bytes());
  };
  std::mt19937 random(11);
  std::string bytes;
  while (bytes.size() < 40 * 8) bytes += static_cast<char>(random());
  for (const char* device : {"cpu", "reference"}) {
    CAPTURE(device);
    for (const auto& [from, to] : {std::pair{DType::f32, DType::i32},
                                   {DType::u32, DType::f32},
                                   {DType::f64, DType::u64},
                                   {DType::i16, DType::u16},
                                   {DType::i8, DType::f8e5m2},
                                   {DType::f8e4m3fn, DType::u8}}) {
      CAPTURE(name_of(from));
      CHECK(run(from, to, bytes.data(), device) == bytes.substr(0, 40 * size_of(from)));
    }
    std::string nibbles;
    for (int i = 0; i < 40; ++i) nibbles += static_cast<char>(i % 16 - 8);
    const std::string codes_of_u4 = run(DType::i4, DType::u4, nibbles.data(), device);
    for (std::size_t i = 0; i < 40; ++i) CHECK(codes_of_u4[i] == (nibbles[i] & 15));
  }
}

TEST_CASE("an operator that computes refuses codes, and bit_cast other sizes") {
  const auto refused = [](const std::string& body, const char* message) {
    CHECK_THROWS_WITH_AS(
        codes_graph("dyn 1\ndim N\ngraph g(x: f8e4m3fn[N]) -> (y: f8e4m3fn[N]) {\n  y = " + body +
                        "\n  return y\n}\n",
                    "cpu"),
        doctest::Contains(message), Error);
  };
  refused("add(x, x)", "f8e4m3fn");
  refused("tanh(x)", "f8e4m3fn");
  refused("bit_cast(x) dtype=f32", "different numbers of bits");
  refused("bit_cast(x) dtype=u4", "different numbers of bits");
}
