// Imported paddings, blocks of pixels, columns of windows and norms over groups, beside plain
// loops.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::at;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::run_all;
using testing::set;
using testing::set_list;
using testing::set_word;
using testing::Values;

namespace {

/// The place within an axis that padding of this mode shows, found step by step.
std::int64_t shown(const std::string& mode, std::int64_t place, std::int64_t extent) {
  if (mode == "edge") return place < 0 ? 0 : place >= extent ? extent - 1 : place;
  if (mode == "wrap") {
    while (place < 0) place += extent;
    return place % extent;
  }
  while (place < 0 || place >= extent) place = place < 0 ? -place : 2 * (extent - 1) - place;
  return place;
}

}  // namespace

TEST_CASE(
    "imported paddings show the edge, the mirrored or the other end of an axis of any length") {
  for (const std::string mode : {"edge", "reflect", "wrap"}) {
    CAPTURE(mode);
    OnnxFile file(19);
    file.input("x", {"N", "M"}).integers("p", {4}, {3, -1, 0, 5}).output("y");
    set_word(file.node("Pad", {"x", "p"}, {"y"}), "mode", mode);
    for (const std::int64_t rows : {2, 4}) {
      const std::int64_t columns = rows + 1;
      std::vector<float> x = random_floats(static_cast<std::size_t>(rows * columns));
      Values expected;
      for (std::int64_t i = -3; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns - 1 + 5; ++j)
          expected.push_back(
              at(x, shown(mode, i, rows) * columns + 1 + shown(mode, j, columns - 1)));
      }
      const Result result = run(file, {{"x", {&x, {rows, columns}}}});
      CHECK(result.shape == Shape{rows + 3, columns + 4});
      CHECK(result.values == expected);
    }
  }
}

TEST_CASE(
    "the middle of an axis is cut out of it or stands among zeros, as its length at a run says") {
  OnnxFile file;
  file.input("x", {"N", "M"}).integers("s", {1}, {4}).output("y");
  set_list(file.node("CenterCropPad", {"x", "s"}, {"y"}), "axes", {-1});
  for (const std::int64_t length : {1, 3, 4, 7}) {
    std::vector<float> x = random_floats(static_cast<std::size_t>(2 * length));
    const Result result = run(file, {{"x", {&x, {2, length}}}});
    REQUIRE(result.shape == Shape{2, 4});
    for (std::int64_t i = 0; i < 8; ++i) {
      const std::int64_t from = i % 4 + (length > 4 ? (length - 4) / 2 : -((4 - length) / 2));
      CHECK(result.values[static_cast<std::size_t>(i)] ==
            (from < 0 || from >= length ? 0 : at(x, i / 4 * length + from)));
    }
  }
}

TEST_CASE(
    "imported blocks of pixels become channels, and channels blocks of pixels in either order") {
  constexpr std::int64_t channels = 3, block = 2, height = 2, width = 5;
  std::vector<float> x = random_floats(2 * channels * block * block * height * width);
  for (const std::string mode : {"DCR", "CRD"}) {
    OnnxFile file(28);
    file.input("x", {"N", 12, "H", "W"}).output("y").output("z").output("other");
    set_word(set(file.node("DepthToSpace", {"x"}, {"y"}), "blocksize", block), "mode", mode);
    set(file.node("SpaceToDepth", {"y"}, {"z"}), "blocksize", block);
    set_word(set(file.node("SpaceToDepth", {"y"}, {"other"}), "blocksize", block), "mode", "CRD");
    const std::vector<Result> results =
        run_all(file, {{"x", Tensor::view(x.data(), {2, 12, height, width})}});
    REQUIRE(results[0].shape == Shape{2, channels, height * block, width * block});
    REQUIRE(results[1].shape == Shape{2, 12, height, width});
    REQUIRE(results[2].shape == Shape{2, 12, height, width});
    Values pixels(x.size()), depths(x.size()), others(x.size());
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
      const std::int64_t n = i / (12 * height * width), c = i / (height * width) % 12,
                         h = i / width % height, w = i % width;
      const std::int64_t from = mode == "DCR" ? c % channels : c / (block * block),
                         tap = mode == "DCR" ? c / channels : c % (block * block);
      const std::int64_t row = h * block + tap / block, column = w * block + tap % block;
      pixels[static_cast<std::size_t>(
          ((n * channels + from) * height * block + row) * width * block + column)] = at(x, i);
      depths[static_cast<std::size_t>(((n * 12 + tap * channels + from) * height + h) * width +
                                      w)] = at(x, i);
      others[static_cast<std::size_t>(((n * 12 + from * block * block + tap) * height + h) * width +
                                      w)] = at(x, i);
    }
    CHECK(results[0].values == pixels);
    CHECK(results[1].values == depths);
    CHECK(results[2].values == others);
  }
}

TEST_CASE("imported columns of windows add up where windows overlap") {
  constexpr std::int64_t height = 5, width = 6, rows = 2, columns = 3;
  OnnxFile file;
  file.input("x", {"N", "C", "L"})
      .integers("image", {2}, {height, width})
      .integers("block", {2}, {rows, columns})
      .output("y");
  onnx::NodeProto& node = file.node("Col2Im", {"x", "image", "block"}, {"y"});
  set_list(set_list(set_list(node, "strides", {2, 1}), "dilations", {1, 2}), "pads", {1, 0, 0, 2});
  const std::int64_t windows_down = (1 + height - rows) / 2 + 1,
                     windows_across = width + 2 - (2 * (columns - 1) + 1) + 1,
                     windows = windows_down * windows_across;
  std::vector<float> x = random_floats(static_cast<std::size_t>(2 * 2 * rows * columns * windows));
  Values expected(2 * 2 * height * width);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t window = i % windows, tap = i / windows % (rows * columns),
                       image = i / windows / (rows * columns);
    const std::int64_t h = window / windows_across * 2 - 1 + tap / columns,
                       w = window % windows_across + tap % columns * 2;
    if (h >= 0 && h < height && w < width)
      expected[static_cast<std::size_t>((image * height + h) * width + w)] += at(x, i);
  }
  const Result result = run(file, {{"x", {&x, {2, 2 * rows * columns, windows}}}});
  CHECK(result.shape == Shape{2, 2, height, width});
  check_close(result.values, expected);
}

TEST_CASE("an imported group normalisation scales groups, and from opset 21 on channels") {
  for (const int opset : {18, 21}) {
    OnnxFile file(opset);
    const std::size_t scales = opset < 21 ? 2 : 6;
    std::vector<float> x = random_floats(2 * 6 * 5), scale = random_floats(scales),
                       bias = random_floats(scales);
    file.input("x", {"N", 6, "K"})
        .floats("s", {static_cast<std::int64_t>(scales)}, scale)
        .floats("b", {static_cast<std::int64_t>(scales)}, bias)
        .output("y");
    testing::set_number(
        set(file.node("GroupNormalization", {"x", "s", "b"}, {"y"}), "num_groups", 2), "epsilon",
        0.02F);
    Values expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t first = i / 15 * 15, which = opset < 21 ? i / 15 % 2 : i / 5 % 6;
      double mean = 0, variance = 0;
      for (std::size_t j = first; j < first + 15; ++j) mean += static_cast<double>(x[j]) / 15;
      for (std::size_t j = first; j < first + 15; ++j)
        variance += std::pow(static_cast<double>(x[j]) - mean, 2) / 15;
      expected.push_back((static_cast<double>(x[i]) - mean) /
                             std::sqrt(variance + static_cast<double>(0.02F)) *
                             static_cast<double>(scale[which]) +
                         static_cast<double>(bias[which]));
    }
    check_close(run(file, {{"x", {&x, {2, 6, 5}}}}).values, expected, 1e-5);
  }
}

TEST_CASE("imported norms along an axis, where a norm of 0 gives 0") {
  for (const std::int64_t p : {1, 2}) {
    OnnxFile file;
    file.input("x", {"N", "K"}).output("y");
    set(set(file.node("LpNormalization", {"x"}, {"y"}), "p", p), "axis", 0);
    std::vector<float> x = random_floats(12);
    for (std::size_t i = 0; i < 3; ++i) x[i * 4 + 1] = 0;
    Values expected;
    for (std::size_t i = 0; i < 12; ++i) {
      double norm = 0;
      for (std::size_t j = i % 4; j < 12; j += 4)
        norm +=
            p == 1 ? std::abs(static_cast<double>(x[j])) : std::pow(static_cast<double>(x[j]), 2);
      expected.push_back(norm == 0 ? 0
                                   : static_cast<double>(x[i]) / (p == 1 ? norm : std::sqrt(norm)));
    }
    check_close(run(file, {{"x", {&x, {3, 4}}}}).values, expected);
  }
}

TEST_CASE(
    "an imported batch normalisation in training mixes its own mean and variance with the running "
    "ones") {
  OnnxFile file(15);
  std::vector<float> x = random_floats(2 * 3 * 4), scale = random_floats(3),
                     bias = random_floats(3), mean = random_floats(3),
                     variance = random_floats(3, 0.5F);
  file.input("x", {"N", 3, "K"})
      .floats("s", {3}, scale)
      .floats("b", {3}, bias)
      .floats("m", {3}, mean)
      .floats("v", {3}, variance)
      .output("y")
      .output("rm")
      .output("rv");
  testing::set_number(
      set(file.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"}),
          "training_mode", 1),
      "momentum", 0.7F);
  Values means(3), variances(3), expected, running_means, running_variances;
  for (std::size_t i = 0; i < 24; ++i) means[i / 4 % 3] += static_cast<double>(x[i]) / 8;
  for (std::size_t i = 0; i < 24; ++i)
    variances[i / 4 % 3] += std::pow(static_cast<double>(x[i]) - means[i / 4 % 3], 2) / 8;
  for (std::size_t i = 0; i < 24; ++i) {
    const std::size_t c = i / 4 % 3;
    expected.push_back((static_cast<double>(x[i]) - means[c]) / std::sqrt(variances[c] + 1e-5) *
                           static_cast<double>(scale[c]) +
                       static_cast<double>(bias[c]));
  }
  for (std::size_t c = 0; c < 3; ++c) {
    running_means.push_back(static_cast<double>(mean[c]) * 0.7 + means[c] * 0.3);
    running_variances.push_back(static_cast<double>(variance[c]) * 0.7 + variances[c] * 0.3);
  }
  const std::vector<Result> results = run_all(file, {{"x", Tensor::view(x.data(), {2, 3, 4})}});
  check_close(results[0].values, expected, 1e-5);
  check_close(results[1].values, running_means, 1e-5);
  check_close(results[2].values, running_variances, 1e-5);
}
