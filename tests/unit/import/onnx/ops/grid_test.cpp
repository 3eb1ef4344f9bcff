// Imported GridSample and AffineGrid beside loops in double precision.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::run_all;
using testing::set;
using testing::set_word;
using testing::Values;

namespace {

struct Sampling {
  std::string mode, padding;
  bool align_corners;
};

double cubic(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/// Reflects the place step by step.
double reflected(double place, double first, double last) {
  while (place < first || place > last)
    place = place < first ? 2 * first - place : 2 * last - place;
  return place;
}

/// The weight of each element of an axis at a place of the grid.
Values weights(const Sampling& sampling, double normal, std::int64_t extent) {
  const auto size = static_cast<double>(extent);
  const double first = sampling.align_corners ? 0 : -0.5,
               last = sampling.align_corners ? size - 1 : size - 0.5;
  double place =
      sampling.align_corners ? (normal + 1) / 2 * (size - 1) : ((normal + 1) * size - 1) / 2;
  if (sampling.mode == "nearest") place = std::nearbyint(place);
  if (sampling.padding == "reflection")
    place = extent == 1 && sampling.align_corners ? 0 : reflected(place, first, last);
  Values weights(static_cast<std::size_t>(extent));
  for (double tap = std::floor(place) - 2; tap <= std::floor(place) + 3; ++tap) {
    const double d = std::abs(tap - place), weight = sampling.mode == "nearest" ? (d == 0 ? 1 : 0)
                                                     : sampling.mode == "linear"
                                                         ? std::max(1 - d, 0.0)
                                                         : cubic(d);
    const bool inside = tap >= 0 && tap < size;
    if (!inside && sampling.padding == "zeros") continue;
    double at = std::clamp(tap, 0.0, size - 1);
    if (!inside && sampling.padding == "reflection")
      at = sampling.align_corners && extent == 1 ? 0 : reflected(tap, first, last);
    weights[static_cast<std::size_t>(at)] += weight;
  }
  return weights;
}

void check_sampling(const Sampling& sampling, const std::vector<std::int64_t>& image) {
  CAPTURE(sampling.mode);
  CAPTURE(sampling.padding);
  CAPTURE(sampling.align_corners);
  const std::size_t axes = image.size();
  OnnxFile file;
  if (axes == 2)
    file.input("x", {"N", 2, "H", "W"}).input("g", {"N", "A", "B", 2});
  else
    file.input("x", {"N", 2, "D", "H", "W"}).input("g", {"N", "A", "B", "C", 3});
  file.output("y");
  set(set_word(set_word(file.node("GridSample", {"x", "g"}, {"y"}), "mode", sampling.mode),
               "padding_mode", sampling.padding),
      "align_corners", sampling.align_corners);
  std::int64_t pixels = 1, places = 1;
  Shape image_shape{2, 2}, grid_shape{2}, shape{2, 2};
  for (std::size_t i = 0; i < axes; ++i) {
    pixels *= image[i];
    places *= static_cast<std::int64_t>(i) + 2;
    image_shape.push_back(image[i]);
    grid_shape.push_back(static_cast<std::int64_t>(i) + 2);
    shape.push_back(static_cast<std::int64_t>(i) + 2);
  }
  grid_shape.push_back(static_cast<std::int64_t>(axes));
  std::vector<float> x = random_floats(static_cast<std::size_t>(4 * pixels)),
                     grid = random_floats(static_cast<std::size_t>(2 * places) * axes, -2.3F, 2.1F);
  Values expected;
  for (std::int64_t n = 0; n < 4; ++n) {
    for (std::int64_t place = 0; place < places; ++place) {
      std::vector<Values> by_axis;
      for (std::size_t axis = 0; axis < axes; ++axis)
        by_axis.push_back(weights(
            sampling,
            static_cast<double>(
                grid[static_cast<std::size_t>(n / 2 * places + place) * axes + axes - 1 - axis]),
            image[axis]));
      double sum = 0;
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        double weight = 1;
        std::int64_t rest = pixel;
        for (std::size_t axis = axes; axis-- > 0; rest /= image[axis])
          weight *= by_axis[axis][static_cast<std::size_t>(rest % image[axis])];
        sum += weight * static_cast<double>(x[static_cast<std::size_t>(n * pixels + pixel)]);
      }
      expected.push_back(sum);
    }
  }
  const Result result = run(file, {{"x", {&x, image_shape}}, {"g", {&grid, grid_shape}}});
  CHECK(result.shape == shape);
  check_close(result.values, expected, 5e-5);
}

}  // namespace

TEST_CASE(
    "an image is sampled at the places of a grid, by every curve and padding, in two dimensions "
    "and in three") {
  dyn::testing::Sweep sweep(8);
  for (const std::string padding : {"zeros", "border", "reflection"}) {
    for (const bool align_corners : {false, true}) {
      for (const std::string mode : {"nearest", "linear", "cubic"}) {
        for (const std::int64_t height : {1, 4}) {
          if (sweep.takes()) check_sampling({mode, padding, align_corners}, {height, 5});
        }
      }
      for (const std::string mode : {"nearest", "linear"}) {
        if (sweep.takes()) check_sampling({mode, padding, align_corners}, {3, 2, 4});
      }
    }
  }
}

TEST_CASE("a grid is an affine map of the places of an image") {
  for (const bool align_corners : {false, true}) {
    OnnxFile file;
    file.input("theta", {"N", 3, 4}).integers("size", {5}, {2, 1, 3, 4, 5}).output("y");
    set(file.node("AffineGrid", {"theta", "size"}, {"y"}), "align_corners", align_corners);
    std::vector<float> theta = random_floats(24);
    Values expected;
    const auto normal = [&](int place, int extent) {
      return align_corners ? 2.0 * place / (extent - 1) - 1 : (2.0 * place + 1) / extent - 1;
    };
    for (std::size_t i = 0; i < 2 * 3 * 4 * 5; ++i) {
      const int d = static_cast<int>(i / 20 % 3), h = static_cast<int>(i / 5 % 4),
                w = static_cast<int>(i % 5);
      for (std::size_t row = 0; row < 3; ++row) {
        const auto at = [&](std::size_t column) {
          return static_cast<double>(theta[(i / 60 * 3 + row) * 4 + column]);
        };
        expected.push_back(at(0) * normal(w, 5) + at(1) * normal(h, 4) + at(2) * normal(d, 3) +
                           at(3));
      }
    }
    const Result result = run(file, {{"theta", {&theta, {2, 3, 4}}}});
    CHECK(result.shape == Shape{2, 3, 4, 5, 3});
    check_close(result.values, expected);
  }
}

TEST_CASE("a sum of more taps than there can be nodes for is refused") {
  OnnxFile file;
  file.input("x", {"N", 1, 2, 2, 2, 2, 2}).output("y");
  file.input("grid", {"N", 1, 1, 1, 1, 1, 5});
  testing::set_word(file.node("GridSample", {"x", "grid"}, {"y"}), "mode", "cubic");
  testing::check_error(file, ErrorKind::unsupported, {"GridSample", "1024 taps along 5 axes"});
}
