// Imported Resize and Upsample beside loops in double precision: every curve and rule of
// coordinates, with sizes that are known and with sizes that a run brings.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::set;
using testing::set_number;
using testing::set_word;
using testing::Values;

namespace {

struct Mode {
  std::string curve = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor";
  bool antialias = false, exclude_outside = false;
};

struct Axis {
  std::int64_t in, out;
  double scale;
  bool given;  ///< the scale is given, and the scaled axis may be no whole number
};

double original(const Mode& mode, double x, const Axis& axis) {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out),
             width = axis.given ? in * axis.scale : out;
  const double half_pixel = (x + 0.5) / axis.scale - 0.5;
  if (mode.coordinates == "half_pixel") return half_pixel;
  if (mode.coordinates == "half_pixel_symmetric") return in / 2 * (1 - out / width) + half_pixel;
  if (mode.coordinates == "pytorch_half_pixel") return out == 1 ? 0 : half_pixel;
  if (mode.coordinates == "align_corners") return width == 1 ? 0 : x * (in - 1) / (width - 1);
  return x / axis.scale;
}

double curve_at(const Mode& mode, double distance) {
  constexpr double a = -0.6;
  const double d = std::abs(distance);
  if (mode.curve == "linear") return std::max(1 - d, 0.0);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/// The weight of each element of the original axis in element x of the resized one.
Values weights(const Mode& mode, std::int64_t x, const Axis& axis) {
  const double place = original(mode, static_cast<double>(x), axis);
  Values weights(static_cast<std::size_t>(axis.in));
  const auto add = [&](double at, double weight) {
    if (mode.exclude_outside && (at < 0 || at >= static_cast<double>(axis.in))) return;
    weights[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(axis.in - 1)))] +=
        weight;
  };
  if (mode.curve == "nearest") {
    const auto& r = mode.rounding;
    add(r == "floor"               ? std::floor(place)
        : r == "ceil"              ? std::ceil(place)
        : r == "round_prefer_ceil" ? std::floor(place + 0.5)
                                   : std::ceil(place - 0.5),
        1);
    return weights;
  }
  const double narrowing = mode.antialias ? std::min(axis.scale, 1.0) : 1;
  for (double at = -60; at < 60; ++at) add(at, curve_at(mode, (at - place) * narrowing));
  double sum = 0;
  for (const double each : weights) sum += each;
  for (double& each : weights) each /= sum;
  return weights;
}

Values resized(const std::vector<float>& x, std::int64_t images, const Mode& mode, const Axis& down,
               const Axis& across) {
  Values result;
  for (std::int64_t n = 0; n < images; ++n) {
    for (std::int64_t h = 0; h < down.out; ++h) {
      const Values rows = weights(mode, h, down);
      for (std::int64_t w = 0; w < across.out; ++w) {
        const Values columns = weights(mode, w, across);
        double sum = 0;
        for (std::int64_t i = 0; i < down.in; ++i) {
          for (std::int64_t j = 0; j < across.in; ++j)
            sum +=
                rows[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)] *
                static_cast<double>(x[static_cast<std::size_t>((n * down.in + i) * across.in + j)]);
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

void set_mode(onnx::NodeProto& node, const Mode& mode) {
  set_word(set_word(set_word(node, "mode", mode.curve), "coordinate_transformation_mode",
                    mode.coordinates),
           "nearest_mode", mode.rounding);
  set_number(set(set(node, "antialias", mode.antialias), "exclude_outside", mode.exclude_outside),
             "cubic_coeff_a", -0.6F);
}

/// With sizes given, the axes of the image fixed in the file or not.
void check_sizes(const Mode& mode, bool fixed) {
  CAPTURE(mode.curve);
  CAPTURE(mode.coordinates);
  CAPTURE(mode.rounding);
  CAPTURE(fixed);
  constexpr std::int64_t height = 7, width = 5;
  OnnxFile file;
  if (fixed)
    file.input("x", {"N", 2, static_cast<int>(height), static_cast<int>(width)});
  else
    file.input("x", {"N", 2, "H", "W"});
  const std::int64_t rows = mode.antialias ? 3 : 12, columns = 4;
  file.integers("sizes", {2}, {rows, columns}).output("y");
  onnx::NodeProto& node = file.node("Resize", {"x", "", "", "sizes"}, {"y"});
  testing::set_list(node, "axes", {2, 3});
  set_mode(node, mode);
  std::vector<float> x = random_floats(3 * 2 * height * width);
  const Axis down{height, rows, static_cast<double>(rows) / height, false},
      across{width, columns, static_cast<double>(columns) / width, false};
  const Result result = run(file, {{"x", {&x, {3, 2, height, width}}}});
  CHECK(result.shape == Shape{3, 2, rows, columns});
  check_close(result.values, resized(x, 6, mode, down, across), 2e-5);
}

}  // namespace

TEST_CASE("an image is resized to given sizes by every curve and rule of coordinates") {
  dyn::testing::Sweep sweep(4);
  for (const bool fixed : {false, true}) {
    for (const std::string coordinates : {"half_pixel", "half_pixel_symmetric",
                                          "pytorch_half_pixel", "align_corners", "asymmetric"}) {
      for (const std::string curve : {"linear", "cubic"}) {
        if (sweep.takes()) check_sizes({.curve = curve, .coordinates = coordinates}, fixed);
      }
      for (const std::string rounding :
           {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        if (sweep.takes()) check_sizes({.coordinates = coordinates, .rounding = rounding}, fixed);
      }
    }
    for (const std::string curve : {"linear", "cubic"}) {
      check_sizes({.curve = curve, .exclude_outside = true}, fixed);
      check_sizes({.curve = curve, .antialias = true}, fixed);
      check_sizes({.curve = curve, .antialias = true, .exclude_outside = true}, fixed);
    }
  }
}

TEST_CASE("an image is resized by scales, at any size that a run brings") {
  for (const std::string curve : {"nearest", "linear", "cubic"}) {
    for (const std::string coordinates :
         {"half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"}) {
      const Mode mode{.curve = curve,
                      .coordinates = coordinates,
                      .antialias = coordinates == "half_pixel" && curve != "nearest"};
      CAPTURE(curve);
      CAPTURE(coordinates);
      OnnxFile file;
      file.input("x", {"N", 2, "H", "W"}).floats("scales", {4}, {1, 1, 2, 0.6875F}).output("y");
      set_mode(file.node("Resize", {"x", "", "scales"}, {"y"}), mode);
      for (const std::int64_t height : {1, 6}) {
        const std::int64_t width = 15;
        std::vector<float> x = random_floats(static_cast<std::size_t>(2 * height * width));
        const Axis down{height, 2 * height, 2, true}, across{width, 10, 0.6875, true};
        const Result result = run(file, {{"x", {&x, {1, 2, height, width}}}});
        CHECK(result.shape == Shape{1, 2, 2 * height, 10});
        check_close(result.values, resized(x, 2, mode, down, across), 5e-5);
      }
    }
  }
}

TEST_CASE(
    "an upsampling repeats elements, and interpolates from the left, in every opset that has it") {
  for (const int opset : {7, 9, 10}) {
    for (const std::string curve : {"nearest", "linear"}) {
      CAPTURE(opset);
      CAPTURE(curve);
      OnnxFile file(opset);
      file.input("x", {"N", 2, "H", "W"}).output("y");
      const std::vector<float> scales = {1, 1, 3, 1.5F};
      if (opset > 7) file.floats("scales", {4}, scales);
      onnx::NodeProto& node = file.node(opset < 10 ? "Upsample" : "Resize", {"x"}, {"y"});
      set_word(node, "mode", curve);
      if (opset > 7) {
        node.add_input("scales");
      } else {
        onnx::AttributeProto& attribute = *node.add_attribute();
        attribute.set_name("scales");
        attribute.set_type(onnx::AttributeProto::FLOATS);
        attribute.mutable_floats()->Add(scales.begin(), scales.end());
      }
      std::vector<float> x = random_floats(2 * 3 * 4);
      const Mode mode{.curve = curve, .coordinates = "asymmetric", .rounding = "floor"};
      check_close(run(file, {{"x", {&x, {1, 2, 3, 4}}}}).values,
                  resized(x, 2, mode, {3, 9, 3, true}, {4, 6, 1.5, true}), 1e-5);
    }
  }
}

TEST_CASE("a part of an image is cut out and resized, with a value of its own around the image") {
  for (const bool constant : {true, false}) {
    OnnxFile file;
    file.input("x", {"H", 5}).integers("sizes", {2}, {6, 4}).output("y");
    std::vector<float> part = {0.2F, -0.3F, 0.9F, 0.7F}, x = random_floats(8 * 5);
    if (constant)
      file.floats("part", {4}, part);
    else
      file.input("part", {4});
    onnx::NodeProto& node = file.node("Resize", {"x", "part", "", "sizes"}, {"y"});
    set_number(set_word(set_word(node, "mode", "linear"), "coordinate_transformation_mode",
                        "tf_crop_and_resize"),
               "extrapolation_value", 9.5F);
    Values expected;
    for (int i = 0; i < 6; ++i) {
      const double down = (static_cast<double>(part[0]) +
                           i * (static_cast<double>(part[2]) - static_cast<double>(part[0])) / 5) *
                          7;
      for (int j = 0; j < 4; ++j) {
        const double across =
            (static_cast<double>(part[1]) +
             j * (static_cast<double>(part[3]) - static_cast<double>(part[1])) / 3) *
            4;
        double sum = 0;
        for (int h = 0; h < 8; ++h) {
          for (int w = 0; w < 5; ++w)
            sum += std::max(1 - std::abs(h - down), 0.0) * std::max(1 - std::abs(w - across), 0.0) *
                   static_cast<double>(x[static_cast<std::size_t>(h * 5 + w)]);
        }
        expected.push_back(across < 0 || across > 4 || down < 0 || down > 7 ? 9.5 : sum);
      }
    }
    std::vector<std::pair<std::string, std::pair<std::vector<float>*, Shape>>> inputs = {
        {"x", {&x, {8, 5}}}};
    if (!constant) inputs.push_back({"part", {&part, {4}}});
    check_close(run(file, inputs).values, expected, 2e-5);
  }
}

TEST_CASE("sizes that keep the aspect ratio are the least or greatest that one axis asks for") {
  for (const bool fixed : {false, true}) {
    for (const std::string policy : {"not_larger", "not_smaller"}) {
      CAPTURE(policy);
      OnnxFile file;
      if (fixed)
        file.input("x", {7, 5});
      else
        file.input("x", {"H", "W"});
      file.integers("sizes", {2}, {9, 8}).output("y");
      set_word(set_word(file.node("Resize", {"x", "", "", "sizes"}, {"y"}), "mode", "linear"),
               "keep_aspect_ratio_policy", policy);
      std::vector<float> x = random_floats(35);
      const bool larger = policy == "not_smaller";
      const double scale = larger ? 8.0 / 5 : 9.0 / 7;
      const Axis down{7, larger ? 11 : 9, scale, true}, across{5, larger ? 8 : 6, scale, true};
      const Result result = run(file, {{"x", {&x, {7, 5}}}});
      CHECK(result.shape == Shape{down.out, across.out});
      check_close(result.values, resized(x, 1, {.curve = "linear"}, down, across), 2e-5);
    }
  }
}
