// Imported pooling of regions of images, and the places of greatest elements, beside plain loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/values.hpp"

// A namespace of its own: the sizes of these models have plain names.
namespace dyn::testing::region {
namespace {

constexpr std::int64_t channels = 3, height = 6, width = 8, down = 2, across = 3;
constexpr double scale = 0.5;

double pixel(const std::vector<float>& image, std::int64_t plane, std::int64_t row,
             std::int64_t column) {
  return static_cast<double>(
      image.at(static_cast<std::size_t>((plane * height + row) * width + column)));
}

/// The four weighted elements around a place; all 0 beyond the image.
std::vector<double> corners(const std::vector<float>& image, std::int64_t plane, double y,
                            double x) {
  if (y < -1 || y > height || x < -1 || x > width) return {0, 0, 0, 0};
  y = std::clamp(y, 0.0, height - 1.0);
  x = std::clamp(x, 0.0, width - 1.0);
  const auto row = static_cast<std::int64_t>(y), column = static_cast<std::int64_t>(x);
  const std::int64_t below = std::min(row + 1, height - 1), right = std::min(column + 1, width - 1);
  const double v = y - static_cast<double>(row), u = x - static_cast<double>(column);
  return {(1 - v) * (1 - u) * pixel(image, plane, row, column),
          (1 - v) * u * pixel(image, plane, row, right),
          v * (1 - u) * pixel(image, plane, below, column),
          v * u * pixel(image, plane, below, right)};
}

double aligned(const std::vector<float>& image, std::int64_t plane, const float* region,
               std::int64_t row, std::int64_t column, bool half_pixel, std::int64_t ratio,
               bool mean) {
  const double offset = half_pixel ? 0.5 : 0;
  double start[2], size[2];
  std::int64_t samples[2];
  for (int i = 0; i < 2; ++i) {
    start[i] = static_cast<double>(region[1 - i]) * scale - offset;
    size[i] = static_cast<double>(region[3 - i]) * scale - offset - start[i];
    if (!half_pixel) size[i] = std::max(size[i], 1.0);
    size[i] /= static_cast<double>(i == 0 ? down : across);
    samples[i] = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(size[i]));
  }
  double sum = 0,
         greatest = samples[0] * samples[1] > 0 ? -std::numeric_limits<double>::infinity() : 0;
  for (std::int64_t i = 0; i < samples[0]; ++i) {
    for (std::int64_t j = 0; j < samples[1]; ++j) {
      const double y = start[0] + static_cast<double>(row) * size[0] +
                       (static_cast<double>(i) + 0.5) * size[0] / static_cast<double>(samples[0]);
      const double x = start[1] + static_cast<double>(column) * size[1] +
                       (static_cast<double>(j) + 0.5) * size[1] / static_cast<double>(samples[1]);
      for (const double each : corners(image, plane, y, x)) {
        sum += each;
        greatest = std::max(greatest, each);
      }
    }
  }
  return mean ? sum / static_cast<double>(std::max<std::int64_t>(samples[0] * samples[1], 1))
              : greatest;
}

double pooled(const std::vector<float>& image, std::int64_t plane, const float* region,
              std::int64_t row, std::int64_t column) {
  const auto edge = [&](int i) {
    return static_cast<std::int64_t>(std::round(static_cast<double>(region[i]) * scale));
  };
  const double rows = static_cast<double>(std::max<std::int64_t>(edge(3) - edge(1) + 1, 1)) / down,
               columns =
                   static_cast<double>(std::max<std::int64_t>(edge(2) - edge(0) + 1, 1)) / across;
  double greatest = -std::numeric_limits<double>::infinity();
  for (std::int64_t h = 0; h < height; ++h) {
    for (std::int64_t w = 0; w < width; ++w) {
      const bool in_row =
          h >= edge(1) + static_cast<std::int64_t>(std::floor(static_cast<double>(row) * rows)) &&
          h < edge(1) + static_cast<std::int64_t>(std::ceil(static_cast<double>(row + 1) * rows));
      const bool in_column =
          w >= edge(0) +
                   static_cast<std::int64_t>(std::floor(static_cast<double>(column) * columns)) &&
          w < edge(0) +
                  static_cast<std::int64_t>(std::ceil(static_cast<double>(column + 1) * columns));
      if (in_row && in_column) greatest = std::max(greatest, pixel(image, plane, h, w));
    }
  }
  return std::isinf(greatest) ? 0 : greatest;
}

const std::vector<float> regions = {1,    2,    9.5F, 10, -3, -1, 4,  3.2F, 6,  7,
                                    6.5F, 7.5F, 0,    0,  15, 11, 12, 3,    22, 9};

}  // namespace

TEST_CASE(
    "imported regions are aligned by samples whose number is given, or follows from the region's "
    "size") {
  dyn::testing::Sweep sweep(3);
  for (int bits = 0; bits < 8; ++bits) {
    if (!sweep.takes()) continue;
    const bool half_pixel = (bits & 1) != 0, mean = (bits & 2) != 0;
    const std::int64_t ratio = (bits & 4) != 0 ? 2 : 0;
    CAPTURE(bits);
    OnnxFile file;
    file.input("x", {"N", channels, "H", "W"})
        .input("r", {"R", 4})
        .input("b", {"R"}, onnx::TensorProto::INT64)
        .output("y");
    onnx::NodeProto& node = file.node("RoiAlign", {"x", "r", "b"}, {"y"});
    set_word(set_word(node, "coordinate_transformation_mode",
                      half_pixel ? "half_pixel" : "output_half_pixel"),
             "mode", mean ? "avg" : "max");
    set_number(
        set(set(set(node, "sampling_ratio", ratio), "output_height", down), "output_width", across),
        "spatial_scale", static_cast<float>(scale));
    std::vector<float> x = random_floats(2 * channels * height * width), r = regions;
    std::vector<std::int64_t> batches = {1, 0, 0, 1, 1};
    Values expected;
    for (std::int64_t i = 0; i < 5 * channels * down * across; ++i) {
      const std::int64_t column = i % across, row = i / across % down,
                         channel = i / (across * down) % channels,
                         region = i / (across * down * channels);
      expected.push_back(aligned(x, batches[static_cast<std::size_t>(region)] * channels + channel,
                                 r.data() + region * 4, row, column, half_pixel, ratio, mean));
    }
    NamedTensors inputs = {{"x", Tensor::view(x.data(), {2, channels, height, width})},
                           {"r", Tensor::view(r.data(), {5, 4})},
                           {"b", Tensor::view(batches.data(), {5})}};
    const Result result = run_all(file, inputs).front();
    CHECK(result.shape == Shape{5, channels, down, across});
    check_close(result.values, expected, 2e-5);
    batches[2] = 2;
    CHECK_THROWS_AS(run_all(file, inputs), Error);
    batches[2] = 1;
    r[6] = std::numeric_limits<float>::quiet_NaN();
    const Graph lenient = load(file);
    Options options;
    options.strict = true;
    const Graph strict = load(file, options);
    if (ratio > 0) CHECK_NOTHROW(lenient.run(inputs));
    for (const float bad :
         {r[6], std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
      r[6] = bad;
      CHECK_THROWS_WITH_AS(strict.run(inputs), doctest::Contains("a region is not finite"), Error);
    }
    r[6] = regions[6];
    check_close(run_all(strict, inputs).front().values, run_all(lenient, inputs).front().values);
    r[2] = 200;
    if (ratio == 0) CHECK_THROWS_AS(run_all(file, inputs), Error);
  }
}

TEST_CASE("imported regions are pooled over bins of whole elements") {
  OnnxFile file;
  file.input("x", {"N", channels, "H", "W"}).input("r", {"R", 5}).output("y");
  set_number(set_list(file.node("MaxRoiPool", {"x", "r"}, {"y"}), "pooled_shape", {down, across}),
             "spatial_scale", static_cast<float>(scale));
  std::vector<float> x = random_floats(2 * channels * height * width), r;
  const std::vector<std::int64_t> batches = {1, 0, 0, 1, 1};
  Values expected;
  for (std::size_t i = 0; i < 5; ++i) {
    r.push_back(static_cast<float>(batches[i]));
    r.insert(r.end(), regions.begin() + static_cast<std::ptrdiff_t>(i * 4),
             regions.begin() + static_cast<std::ptrdiff_t>(i * 4 + 4));
  }
  for (std::int64_t i = 0; i < 5 * channels * down * across; ++i) {
    const std::int64_t column = i % across, row = i / across % down,
                       channel = i / (across * down) % channels,
                       region = i / (across * down * channels);
    expected.push_back(pooled(x, batches[static_cast<std::size_t>(region)] * channels + channel,
                              r.data() + region * 5 + 1, row, column));
  }
  check_close(run_all(file, {{"x", Tensor::view(x.data(), {2, channels, height, width})},
                             {"r", Tensor::view(r.data(), {5, 5})}})
                  .front()
                  .values,
              expected);
}

TEST_CASE(
    "the places of an imported pool's results are those of the first greatest elements, in either "
    "order of the axes") {
  for (const bool row_major : {true, false}) {
    OnnxFile file;
    file.input("x", {"N", "C", "H", "W"}).output("y").output("i");
    onnx::NodeProto& node = file.node("MaxPool", {"x"}, {"y", "i"});
    set(set_list(set_list(set_list(set_list(node, "kernel_shape", {2, 3}), "strides", {2, 1}),
                          "dilations", {1, 2}),
                 "pads", {1, 1, 0, 1}),
        "storage_order", row_major ? 0 : 1);
    constexpr std::int64_t rows = (height + 1 - 2) / 2 + 1, columns = width + 2 - 5 + 1;
    std::vector<float> x;
    for (const float each : random_floats(2 * channels * height * width))
      x.push_back(std::round(each));
    Values greatest, places;
    for (std::int64_t i = 0; i < 2 * channels * rows * columns; ++i) {
      const std::int64_t plane = i / (rows * columns), row = i / columns % rows * 2 - 1,
                         column = i % columns - 1;
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t place = 0;
      for (std::int64_t h = row; h < row + 2; ++h) {
        for (std::int64_t w = column; w < column + 6; w += 2) {
          if (h < 0 || h >= height || w < 0 || w >= width) continue;
          if (pixel(x, plane, h, w) <= best) continue;
          best = pixel(x, plane, h, w);
          place = row_major ? h * width + w : w * height + h;
        }
      }
      greatest.push_back(best);
      places.push_back(static_cast<double>(plane * height * width + place));
    }
    const std::vector<Result> results =
        run_all(file, {{"x", Tensor::view(x.data(), {2, channels, height, width})}});
    CHECK(results[0].values == greatest);
    CHECK(results[1].values == places);
  }
}

}  // namespace dyn::testing::region
