// Imported Fourier transforms, their windows and the mel scale's filters, beside sums in double
// precision.

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxDim;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::set;
using testing::Values;

namespace {

using Complex = std::complex<double>;

/// Frequency k of a signal that ends with zeros, or is cut off, at `length`.
Complex frequency(const std::vector<Complex>& signal, std::int64_t k, std::int64_t length,
                  bool inverse) {
  Complex sum = 0;
  for (std::int64_t n = 0;
       n < std::min<std::int64_t>(length, static_cast<std::int64_t>(signal.size())); ++n)
    sum += signal[static_cast<std::size_t>(n)] *
           std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(n * k) /
                               static_cast<double>(length));
  return inverse ? sum / static_cast<double>(length) : sum;
}

}  // namespace

TEST_CASE(
    "an imported Fourier transform of real or complex numbers along any axis, of sizes known and "
    "not") {
  struct Case {
    int opset;
    bool fixed, complex, inverse, onesided;
    std::int64_t length;
  };
  for (const Case& each :
       {Case{17, true, false, false, true, 0}, Case{17, false, true, false, false, 9},
        Case{20, false, true, true, false, 0}, Case{20, true, true, true, false, 4},
        Case{20, false, false, false, true, 8}, Case{20, false, false, false, false, 0}}) {
    const std::int64_t extent = 6, parts = each.complex ? 2 : 1,
                       length = each.length == 0 ? extent : each.length,
                       count = each.onesided ? length / 2 + 1 : length;
    CAPTURE(length);
    CAPTURE(each.fixed);
    OnnxFile file(each.opset);
    file.input("x", {"N", each.fixed ? OnnxDim(static_cast<int>(extent)) : OnnxDim("S"), 3,
                     static_cast<int>(parts)})
        .output("y");
    onnx::NodeProto& node = file.node("DFT", {"x", each.length == 0 ? "" : "length"}, {"y"});
    if (each.length != 0) file.integers("length", {}, {each.length});
    if (each.opset < 20) {
      set(node, "axis", 1);
    } else {
      file.integers("axis", {}, {-3});
      node.add_input("axis");
    }
    set(set(node, "inverse", each.inverse), "onesided", each.onesided);
    std::vector<float> x = random_floats(static_cast<std::size_t>(2 * extent * 3 * parts));
    Values expected(static_cast<std::size_t>(2 * count * 3 * 2));
    for (std::int64_t i = 0; i < 6; ++i) {
      std::vector<Complex> signal;
      for (std::int64_t n = 0; n < extent; ++n) {
        const auto at = static_cast<std::size_t>(((i / 3 * extent + n) * 3 + i % 3) * parts);
        signal.emplace_back(static_cast<double>(x[at]),
                            each.complex ? static_cast<double>(x[at + 1]) : 0.0);
      }
      for (std::int64_t k = 0; k < count; ++k) {
        const Complex value = frequency(signal, k, length, each.inverse);
        const auto at = static_cast<std::size_t>(((i / 3 * count + k) * 3 + i % 3) * 2);
        expected[at] = value.real();
        expected[at + 1] = value.imag();
      }
    }
    const Result result = run(file, {{"x", {&x, {2, extent, 3, parts}}}});
    CHECK(result.shape == Shape{2, count, 3, 2});
    check_close(result.values, expected, 1e-5);
  }
}

TEST_CASE("half a spectrum becomes a real signal, of even and odd lengths known and not") {
  struct Case {
    bool fixed;
    std::int64_t extent, length;  ///< 0: what the extent means
  };
  for (const Case& each : {Case{true, 5, 0}, Case{false, 5, 0}, Case{true, 4, 7}, Case{false, 4, 7},
                           Case{true, 6, 4}, Case{false, 3, 12}, Case{true, 1, 1}}) {
    const std::int64_t length = each.length == 0 ? 2 * (each.extent - 1) : each.length;
    CAPTURE(each.extent);
    CAPTURE(length);
    CAPTURE(each.fixed);
    OnnxFile file(20);
    file.input("x", {"N", each.fixed ? OnnxDim(static_cast<int>(each.extent)) : OnnxDim("S"), 2})
        .integers("axis", {}, {1})
        .output("y");
    onnx::NodeProto& node =
        file.node("DFT", {"x", each.length == 0 ? "" : "length", "axis"}, {"y"});
    if (each.length != 0) file.integers("length", {}, {each.length});
    set(set(node, "inverse", 1), "onesided", 1);
    std::vector<float> x = random_floats(static_cast<std::size_t>(3 * each.extent * 2));
    Values expected;
    for (std::int64_t i = 0; i < 3; ++i) {
      std::vector<Complex> whole(static_cast<std::size_t>(length));
      for (std::int64_t n = 0; n < std::min(each.extent, length / 2 + 1); ++n) {
        const auto at = static_cast<std::size_t>((i * each.extent + n) * 2);
        const bool is_real = n == 0 || 2 * n == length;
        const Complex value(static_cast<double>(x[at]),
                            is_real ? 0 : static_cast<double>(x[at + 1]));
        whole[static_cast<std::size_t>(n)] = value;
        if (!is_real) whole[static_cast<std::size_t>(length - n)] = std::conj(value);
      }
      for (std::int64_t k = 0; k < length; ++k)
        expected.push_back(frequency(whole, k, length, true).real());
    }
    const Result result = run(file, {{"x", {&x, {3, each.extent, 2}}}});
    CHECK(result.shape == Shape{3, length, 1});
    check_close(result.values, expected, 1e-5);
  }
}

TEST_CASE("an imported short-time transform is that of each frame times the window") {
  for (const bool complex : {false, true}) {
    constexpr std::int64_t length = 5, step = 3;
    const std::int64_t parts = complex ? 2 : 1, count = complex ? length : length / 2 + 1;
    OnnxFile file(17);
    std::vector<float> window = random_floats(length, 0.2F);
    file.input("x", {"N", "S", static_cast<int>(parts)})
        .integers("step", {}, {step})
        .floats("w", {length}, window)
        .output("y");
    set(file.node("STFT", {"x", "step", "w"}, {"y"}), "onesided", !complex);
    for (const std::int64_t extent : {5, 13}) {
      const std::int64_t frames = (extent - length) / step + 1;
      std::vector<float> x = random_floats(static_cast<std::size_t>(2 * extent * parts));
      Values expected;
      for (std::int64_t i = 0; i < 2 * frames; ++i) {
        std::vector<Complex> signal;
        for (std::int64_t n = 0; n < length; ++n) {
          const auto at =
              static_cast<std::size_t>((i / frames * extent + i % frames * step + n) * parts);
          signal.push_back(
              static_cast<double>(window[static_cast<std::size_t>(n)]) *
              Complex(static_cast<double>(x[at]), complex ? static_cast<double>(x[at + 1]) : 0.0));
        }
        for (std::int64_t k = 0; k < count; ++k) {
          const Complex value = frequency(signal, k, length, false);
          expected.insert(expected.end(), {value.real(), value.imag()});
        }
      }
      const Result result = run(file, {{"x", {&x, {2, extent, parts}}}});
      CHECK(result.shape == Shape{2, frames, count, 2});
      check_close(result.values, expected, 1e-5);
    }
  }
}

TEST_CASE("imported windows of a constant size and of a dim") {
  for (const bool periodic : {false, true}) {
    for (const std::string op : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
      CAPTURE(op);
      OnnxFile file;
      file.input("x", {"S"}).output("y");
      file.node("Size", {"x"}, {"n"});
      set(file.node(op, {"n"}, {"w"}), "periodic", periodic);
      file.node("Mul", {"x", "w"}, {"y"});
      std::vector<float> x = random_floats(9);
      Values expected;
      for (std::size_t i = 0; i < 9; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / (periodic ? 9 : 8);
        const double value = op == "HannWindow" ? std::pow(std::sin(angle / 2), 2)
                             : op == "HammingWindow"
                                 ? 25.0 / 46 - 21.0 / 46 * std::cos(angle)
                                 : 0.42 - 0.5 * std::cos(angle) + 0.08 * std::cos(2 * angle);
        expected.push_back(static_cast<double>(x[i]) * value);
      }
      check_close(run(file, {{"x", {&x, {9}}}}).values, expected);
    }
  }
}
