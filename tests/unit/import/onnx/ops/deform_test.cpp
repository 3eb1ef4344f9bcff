// Imported DeformConv and MaxUnpool, beside plain loops.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/import/onnx/values.hpp"

// A namespace of its own: the sizes of these models have plain names.
namespace dyn::testing::deform {
namespace {

constexpr std::int64_t batch = 2, channels = 4, height = 6, width = 7, outputs = 6, rows = 2,
                       columns = 3, offset_groups = 2;
constexpr std::int64_t down = 2, across = 1, dilation = 2, top = 1, left = 2, bottom = 2, right = 1;
constexpr std::int64_t high = (height + top + bottom - ((rows - 1) + 1)) / down + 1,
                       wide = (width + left + right - ((columns - 1) * dilation + 1)) / across + 1;

struct Data {
  explicit Data(std::int64_t groups)
      : x(random_floats(batch * channels * height * width)),
        w(random_floats(static_cast<std::size_t>(outputs * channels / groups * rows * columns))),
        offset(random_floats(batch * offset_groups * rows * columns * 2 * high * wide)),
        bias(random_floats(outputs)),
        mask(random_floats(batch * offset_groups * rows * columns * high * wide)) {}
  std::vector<float> x, w, offset, bias, mask;
};

double element(const std::vector<float>& x, std::int64_t plane, std::int64_t i, std::int64_t j) {
  if (i < 0 || i >= height || j < 0 || j >= width) return 0;
  return static_cast<double>(x[static_cast<std::size_t>((plane * height + i) * width + j)]);
}

double between(const std::vector<float>& x, std::int64_t plane, double i, double j) {
  const double low_i = std::floor(i), low_j = std::floor(j), v = i - low_i, u = j - low_j;
  const auto a = static_cast<std::int64_t>(low_i), b = static_cast<std::int64_t>(low_j);
  return (1 - v) * ((1 - u) * element(x, plane, a, b) + u * element(x, plane, a, b + 1)) +
         v * ((1 - u) * element(x, plane, a + 1, b) + u * element(x, plane, a + 1, b + 1));
}

Values expected(const Data& data, std::int64_t groups) {
  Values y;
  const std::int64_t of_group = channels / groups, taps = rows * columns;
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t i = 0; i < high; ++i)
        for (std::int64_t j = 0; j < wide; ++j) {
          double sum = static_cast<double>(data.bias[static_cast<std::size_t>(o)]);
          for (std::int64_t c = 0; c < of_group; ++c)
            for (std::int64_t r = 0; r < rows; ++r)
              for (std::int64_t k = 0; k < columns; ++k) {
                const std::int64_t channel = o / (outputs / groups) * of_group + c,
                                   by = channel / (channels / offset_groups), tap = r * columns + k;
                const auto at = [&](std::int64_t plane) {
                  return static_cast<std::size_t>((plane * high + i) * wide + j);
                };
                const std::int64_t of_tap = (n * offset_groups + by) * taps + tap;
                const double row = static_cast<double>(i * down - top + r) +
                                   static_cast<double>(data.offset[at(of_tap * 2)]);
                const double column = static_cast<double>(j * across - left + k * dilation) +
                                      static_cast<double>(data.offset[at(of_tap * 2 + 1)]);
                const double weight = static_cast<double>(
                    data.w[static_cast<std::size_t>((o * of_group + c) * taps + tap)]);
                sum += weight * static_cast<double>(data.mask[at(of_tap)]) *
                       between(data.x, n * channels + channel, row, column);
              }
          y.push_back(sum);
        }
  return y;
}

}  // namespace

TEST_CASE("imported deformable convolutions take each element from its own place") {
  for (const std::int64_t groups : {1, 2}) {
    CAPTURE(groups);
    Data data(groups);
    OnnxFile file;
    file.input("x", {"N", 4, "H", "W"})
        .input("offset", {"N", 24, "OH", "OW"})
        .input("mask", {"N", 12, "OH", "OW"})
        .output("y");
    file.floats("w", {outputs, channels / groups, rows, columns}, data.w)
        .floats("b", {outputs}, data.bias);
    onnx::NodeProto& node = file.node("DeformConv", {"x", "w", "offset", "b", "mask"}, {"y"});
    set(set(node, "group", groups), "offset_group", offset_groups);
    set_list(set_list(set_list(node, "strides", {down, across}), "dilations", {1, dilation}),
             "pads", {top, left, bottom, right});
    const Result y = run(file, {{"x", {&data.x, {batch, channels, height, width}}},
                                {"offset", {&data.offset, {batch, 24, high, wide}}},
                                {"mask", {&data.mask, {batch, 12, high, wide}}}});
    CHECK(y.shape == Shape{batch, outputs, high, wide});
    check_close(y.values, expected(data, groups), 2e-4);
  }
}

TEST_CASE("imported unpooling puts elements where they came from") {
  for (const bool larger : {false, true}) {
    CAPTURE(larger);
    OnnxFile file(11);
    file.input("x", {1, 2, 3, 4}).input("i", {1, 2, 3, 4}, onnx::TensorProto::INT64).output("y");
    onnx::NodeProto& node = file.node("MaxUnpool", {"x", "i"}, {"y"});
    set_list(set_list(set_list(node, "kernel_shape", {3, 2}), "strides", {2, 2}), "pads",
             {0, 1, 1, 0});
    constexpr std::int64_t inner_height = 6, inner_width = 7;  // 2 * 2 + 3 - 1, 3 * 2 + 2 - 1
    const std::int64_t to_height = larger ? 8 : inner_height, to_width = larger ? 10 : inner_width;
    if (larger) {
      file.integers("shape", {4}, {1, 2, to_height, to_width});
      node.add_input("shape");
    }
    std::vector<float> x = random_floats(24);
    std::vector<std::int64_t> places;
    Values wanted(static_cast<std::size_t>(2 * to_height * to_width));
    for (std::int64_t each = 0; each < 24; ++each) {
      const std::int64_t place = (each * 11 + 5) % (2 * inner_height * inner_width);
      places.push_back(place);
      const std::int64_t plane = place / (inner_height * inner_width),
                         i = place / inner_width % inner_height, j = place % inner_width;
      wanted[static_cast<std::size_t>((plane * to_height + i) * to_width + j)] =
          static_cast<double>(x[static_cast<std::size_t>(each)]);
    }
    const auto y = run_all(file, {{"x", Tensor::view(x, {1, 2, 3, 4})},
                                  {"i", Tensor::view(places.data(), {1, 2, 3, 4})}});
    CHECK(y[0].shape == Shape{1, 2, to_height, to_width});
    CHECK(y[0].values == wanted);
  }
}

}  // namespace dyn::testing::deform
