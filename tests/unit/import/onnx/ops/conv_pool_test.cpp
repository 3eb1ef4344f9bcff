// Imported convolutions and pools, channels after the batch, beside plain loops in double
// precision.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::set;
using testing::set_list;
using testing::set_number;
using testing::Values;
using Integers = std::vector<std::int64_t>;

namespace {

std::int64_t product(const Integers& dims) {
  std::int64_t result = 1;
  for (const std::int64_t dim : dims) result *= dim;
  return result;
}

void for_each(const Integers& dims, const std::function<void(const Integers&)>& body) {
  if (product(dims) == 0) return;
  Integers index(dims.size(), 0);
  while (true) {
    body(index);
    std::size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

/// Windows over the axes of an image after its channels.
struct Windows {
  Integers image, sizes, strides, dilations, before, after;

  Integers counts() const {
    Integers result;
    for (std::size_t i = 0; i < image.size(); ++i)
      result.push_back(
          (before[i] + image[i] + after[i] - (sizes[i] - 1) * dilations[i] - 1) / strides[i] + 1);
    return result;
  }
  /// The places of a window's taps in the image; -1 for padding.
  Integers places(const Integers& window) const {
    Integers result;
    for_each(sizes, [&](const Integers& tap) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < image.size(); ++i) {
        const std::int64_t at = window[i] * strides[i] + tap[i] * dilations[i] - before[i];
        place = place < 0 || at < 0 || at >= image[i] ? -1 : place * image[i] + at;
      }
      result.push_back(place);
    });
    return result;
  }
  Integers pads() const {
    Integers result = before;
    result.insert(result.end(), after.begin(), after.end());
    return result;
  }
};

struct ConvCase {
  Windows windows;
  std::int64_t batch, channels, filters, groups;
  bool bias;
};

Values convolved(const ConvCase& c, const std::vector<float>& x, const std::vector<float>& w,
                 const std::vector<float>& bias) {
  const std::int64_t pixels = product(c.windows.image), taps = product(c.windows.sizes),
                     depth = c.channels / c.groups, width = c.filters / c.groups;
  Values y;
  for (std::int64_t image = 0; image < c.batch; ++image) {
    for (std::int64_t filter = 0; filter < c.filters; ++filter) {
      for_each(c.windows.counts(), [&](const Integers& window) {
        double sum = c.bias ? static_cast<double>(bias[static_cast<std::size_t>(filter)]) : 0;
        const Integers places = c.windows.places(window);
        for (std::int64_t channel = 0; channel < depth; ++channel) {
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            if (places[static_cast<std::size_t>(tap)] < 0) continue;
            const std::int64_t from =
                (image * c.channels + filter / width * depth + channel) * pixels +
                places[static_cast<std::size_t>(tap)];
            sum += double{x[static_cast<std::size_t>(from)]} *
                   double{w[static_cast<std::size_t>((filter * depth + channel) * taps + tap)]};
          }
        }
        y.push_back(sum);
      });
    }
  }
  return y;
}

Shape shape_of(std::int64_t batch, std::int64_t channels, const Integers& spatial) {
  Shape shape{batch, channels};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  return shape;
}

void declare_image(OnnxFile& file, std::size_t axes, int channels) {
  file.input("x", {"N"});
  onnx::TensorShapeProto& shape = *file.model.mutable_graph()
                                       ->mutable_input(0)
                                       ->mutable_type()
                                       ->mutable_tensor_type()
                                       ->mutable_shape();
  shape.add_dim()->set_dim_value(channels);
  for (std::size_t i = 0; i < axes; ++i) shape.add_dim()->set_dim_param("d" + std::to_string(i));
}

std::vector<float> magnitudes(std::vector<float> values) {
  for (float& value : values) value = std::fabs(value);
  return values;
}

/// A bound for the rounding of sums of so many products in f32 that holds with a probability next
/// to 1: lambda * sqrt(terms) * u * (|A| * |B|), after Higham and Mary, "A New Approach to
/// Probabilistic Rounding Error Analysis", theorem 3.1.
void check_sums(const Values& actual, const Values& expected, const Values& magnitudes_summed,
                std::int64_t terms) {
  constexpr double lambda = 2, unit_roundoff = 0x1p-24;
  REQUIRE(actual.size() == expected.size());
  const double factor =
      lambda * std::sqrt(static_cast<double>(terms + 1)) * unit_roundoff;  // with the bias
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(actual[i] - expected[i]) <= factor * magnitudes_summed[i]);
  }
}

void check_conv(const ConvCase& c) {
  CAPTURE(c.channels);
  CAPTURE(c.filters);
  CAPTURE(c.groups);
  const std::size_t axes = c.windows.image.size();
  OnnxFile file;
  declare_image(file, axes, static_cast<int>(c.channels));
  file.output("y");
  Integers filter_dims{c.filters, c.channels / c.groups};
  filter_dims.insert(filter_dims.end(), c.windows.sizes.begin(), c.windows.sizes.end());
  std::vector<float> x =
      random_floats(static_cast<std::size_t>(c.batch * c.channels * product(c.windows.image)));
  const std::vector<float> w = random_floats(static_cast<std::size_t>(product(filter_dims)), -1,
                                             1.5F),
                           bias = random_floats(static_cast<std::size_t>(c.filters));
  file.floats("w", filter_dims, w).floats("b", {c.filters}, bias);
  onnx::NodeProto& node =
      c.bias ? file.node("Conv", {"x", "w", "b"}, {"y"}) : file.node("Conv", {"x", "w"}, {"y"});
  set_list(node, "strides", c.windows.strides);
  set_list(node, "dilations", c.windows.dilations);
  set_list(node, "pads", c.windows.pads());
  set(node, "group", c.groups);
  const Result result = run(file, {{"x", {&x, shape_of(c.batch, c.channels, c.windows.image)}}});
  CHECK(result.shape == shape_of(c.batch, c.filters, c.windows.counts()));
  check_sums(result.values, convolved(c, x, w, bias),
             convolved(c, magnitudes(x), magnitudes(w), magnitudes(bias)),
             product(filter_dims) / c.filters);
}

struct PoolCase {
  std::string op;
  Windows windows;
  bool ceil = false, include = false;
};

/// The most that the last window may reach over the padded end where a partial window counts.
Integers counts_rounded_up(const Windows& w) {
  Integers counts;
  for (std::size_t i = 0; i < w.image.size(); ++i) {
    const std::int64_t span =
        w.before[i] + w.image[i] + w.after[i] - (w.sizes[i] - 1) * w.dilations[i] - 1;
    std::int64_t count = (span + w.strides[i] - 1) / w.strides[i] + 1;
    if ((count - 1) * w.strides[i] >= w.image[i] + w.before[i]) --count;
    counts.push_back(count);
  }
  return counts;
}

void check_pool(const PoolCase& c) {
  CAPTURE(c.op);
  CAPTURE(c.ceil);
  CAPTURE(c.include);
  constexpr std::int64_t batch = 2, channels = 5;
  OnnxFile file;
  declare_image(file, c.windows.image.size(), channels);
  file.output("y");
  onnx::NodeProto& node = file.node(c.op, {"x"}, {"y"});
  set_list(node, "kernel_shape", c.windows.sizes);
  set_list(node, "strides", c.windows.strides);
  if (c.op == "MaxPool") set_list(node, "dilations", c.windows.dilations);
  set_list(node, "pads", c.windows.pads());
  if (c.ceil) set(node, "ceil_mode", 1);
  if (c.include) set(node, "count_include_pad", 1);
  const std::int64_t pixels = product(c.windows.image);
  std::vector<float> x = random_floats(static_cast<std::size_t>(batch * channels * pixels));
  const Integers counts = c.ceil ? counts_rounded_up(c.windows) : c.windows.counts();
  Values expected;
  for (std::int64_t plane = 0; plane < batch * channels; ++plane) {
    for_each(counts, [&](const Integers& window) {
      double sum = 0, largest = -std::numeric_limits<double>::infinity();
      std::int64_t inside = 0, padded = 0;
      for (const std::int64_t place : c.windows.places(window)) {
        if (place < 0) continue;
        const double value = x[static_cast<std::size_t>(plane * pixels + place)];
        sum += value;
        largest = std::max(largest, value);
        ++inside;
      }
      for_each(c.windows.sizes, [&](const Integers& tap) {
        bool counts_here = true;
        for (std::size_t i = 0; i < tap.size(); ++i) {
          const std::int64_t at = window[i] * c.windows.strides[i] +
                                  tap[i] * c.windows.dilations[i] - c.windows.before[i];
          counts_here = counts_here && at >= -c.windows.before[i] &&
                        at < c.windows.image[i] + c.windows.after[i];
        }
        padded += counts_here;
      });
      expected.push_back(
          c.op == "MaxPool" ? largest : sum / static_cast<double>(c.include ? padded : inside));
    });
  }
  const Result result = run(file, {{"x", {&x, shape_of(batch, channels, c.windows.image)}}});
  CHECK(result.shape == shape_of(batch, channels, counts));
  check_close(result.values, expected);
}

}  // namespace

TEST_CASE("imported convolutions of one to three axes, strided, dilated, padded and grouped") {
  check_conv({{{9}, {3}, {1}, {1}, {1}, {1}}, 2, 4, 6, 1, true});
  check_conv({{{17}, {5}, {3}, {2}, {4}, {1}}, 3, 3, 19, 1, false});
  check_conv({{{6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, 8, 33, 1, true});
  check_conv({{{8, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, 2, 7, 20, 1, true});
  check_conv({{{9, 8}, {1, 1}, {2, 3}, {1, 1}, {0, 0}, {0, 0}}, 2, 7, 20, 1, false});
  check_conv({{{13, 11}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}}, 1, 3, 16, 1, true});
  check_conv({{{9, 10}, {2, 3}, {1, 2}, {3, 2}, {0, 4}, {3, 1}}, 2, 5, 9, 1, false});
  check_conv({{{7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, 6, 8, 2, true});
  check_conv({{{7, 6}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}}, 2, 6, 6, 6, true});
  check_conv({{{7, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 0}, {0, 1}}, 1, 6, 12, 6, false});
  check_conv(
      {{{4, 5, 6}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 2}, {1, 1, 2}}, 2, 3, 10, 1, true});
}

TEST_CASE("imported convolutions pad by rule, at every size alike") {
  for (const auto& [rule, upper] :
       {std::pair<const char*, bool>{"SAME_UPPER", true}, {"SAME_LOWER", false}}) {
    CAPTURE(rule);
    for (const std::int64_t length : {5, 8, 9}) {
      constexpr std::int64_t size = 4, stride = 3;
      const std::int64_t count = (length + stride - 1) / stride,
                         total = std::max<std::int64_t>((count - 1) * stride + size - length, 0);
      const std::int64_t less = total / 2, more = total - less;
      ConvCase c{{{length}, {size}, {stride}, {1}, {upper ? less : more}, {upper ? more : less}},
                 2,
                 3,
                 7,
                 1,
                 false};
      OnnxFile file;
      declare_image(file, 1, 3);
      file.output("y");
      std::vector<float> x = random_floats(static_cast<std::size_t>(2 * 3 * length));
      const std::vector<float> w = random_floats(7 * 3 * 4);
      file.floats("w", {7, 3, 4}, w);
      onnx::NodeProto& node = file.node("Conv", {"x", "w"}, {"y"});
      set_list(node, "strides", {stride});
      onnx::AttributeProto& attribute = *node.add_attribute();
      attribute.set_name("auto_pad");
      attribute.set_type(onnx::AttributeProto::STRING);
      attribute.set_s(rule);
      const Result result = run(file, {{"x", {&x, {2, 3, length}}}});
      CHECK(result.shape == Shape{2, 7, count});
      check_close(result.values, convolved(c, x, w, {}), 1e-5);
    }
  }
}

TEST_CASE("imported pools: the padding counts where it is asked for, the rounded end never") {
  for (const char* op : {"MaxPool", "AveragePool"}) {
    for (const bool ceil : {false, true}) {
      check_pool({op, {{9, 8}, {3, 2}, {2, 3}, {1, 1}, {1, 0}, {1, 1}}, ceil, false});
      check_pool({op, {{7}, {3}, {2}, {1}, {0}, {0}}, ceil, false});
      check_pool({op, {{6, 6}, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}, ceil, false});
    }
  }
  check_pool({"MaxPool", {{9, 8}, {2, 3}, {1, 2}, {2, 2}, {1, 1}, {1, 1}}, false, false});
  for (const bool ceil : {false, true})
    check_pool({"AveragePool", {{8, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 0}}, ceil, true});
}

TEST_CASE(
    "an imported block of convolution, normalisation and pooling is one kernel and a pool, without "
    "a transpose between") {
  OnnxFile file;
  declare_image(file, 2, 4);
  file.output("y");
  const std::vector<float> w = random_floats(6 * 4 * 3 * 3, -1, 1), scale = random_floats(6),
                           shift = random_floats(6), mean = random_floats(6),
                           variance = random_floats(6, 0.2F, 3);
  file.floats("w", {6, 4, 3, 3}, w)
      .floats("scale", {6}, scale)
      .floats("shift", {6}, shift)
      .floats("mean", {6}, mean)
      .floats("variance", {6}, variance);
  set_list(file.node("Conv", {"x", "w"}, {"c"}), "pads", {1, 1, 1, 1});
  file.node("BatchNormalization", {"c", "scale", "shift", "mean", "variance"}, {"n"});
  file.node("Relu", {"n"}, {"r"});
  file.node("GlobalAveragePool", {"r"}, {"g"});
  file.node("Flatten", {"g"}, {"y"});
  const ConvCase c{{{5, 6}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, 3, 4, 6, 1, false};
  std::vector<float> x = random_floats(3 * 4 * 30);
  const Values convolution = convolved(c, x, w, {});
  Values expected;
  for (std::size_t plane = 0; plane < 18; ++plane) {
    const std::size_t channel = plane % 6;
    double sum = 0;
    for (std::size_t pixel = 0; pixel < 30; ++pixel) {
      const double normal = (convolution[plane * 30 + pixel] - double{mean[channel]}) /
                            std::sqrt(double{variance[channel]} + 1e-5);
      sum += std::max(normal * double{scale[channel]} + double{shift[channel]}, 0.0);
    }
    expected.push_back(sum / 30);
  }
  const Result result = run(file, {{"x", {&x, {3, 4, 5, 6}}}});
  CHECK(result.shape == Shape{3, 6});
  check_close(result.values, expected, 1e-5);
}

TEST_CASE("an imported normalisation over neighbouring channels") {
  OnnxFile file;
  file.input("x", {"N", 7, "L"}).output("y");
  onnx::NodeProto& node = file.node("LRN", {"x"}, {"y"});
  set(node, "size", 4);
  set_number(node, "alpha", 0.3F);
  set_number(node, "beta", 0.6F);
  set_number(node, "bias", 1.5F);
  std::vector<float> x = random_floats(2 * 7 * 3);
  Values expected;
  for (std::int64_t image = 0; image < 2; ++image) {
    for (std::int64_t channel = 0; channel < 7; ++channel) {
      for (std::int64_t pixel = 0; pixel < 3; ++pixel) {
        const auto at = [&](std::int64_t of) {
          return double{x[static_cast<std::size_t>((image * 7 + of) * 3 + pixel)]};
        };
        double squares = 0;
        for (std::int64_t near = std::max<std::int64_t>(channel - 1, 0);
             near <= std::min<std::int64_t>(channel + 2, 6); ++near)
          squares += at(near) * at(near);
        expected.push_back(at(channel) / std::pow(1.5 + 0.3 / 4 * squares, 0.6));
      }
    }
  }
  check_close(run(file, {{"x", {&x, {2, 7, 3}}}}).values, expected, 1e-5);
}

namespace {

/// Each element of x adds its filter to the result, at its own place times the stride.
Values scattered(const ConvCase& c, const Integers& out, const std::vector<float>& x,
                 const std::vector<float>& w, const std::vector<float>& bias) {
  const std::int64_t pixels = product(c.windows.image), taps = product(c.windows.sizes),
                     depth = c.channels / c.groups, width = c.filters / c.groups;
  Values y(static_cast<std::size_t>(c.batch * c.filters * product(out)));
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = bias[i / static_cast<std::size_t>(product(out)) % static_cast<std::size_t>(c.filters)];
  for (std::int64_t image = 0; image < c.batch; ++image) {
    for (std::int64_t channel = 0; channel < c.channels; ++channel) {
      std::int64_t pixel = 0;
      for_each(c.windows.image, [&](const Integers& at) {
        const double value =
            x[static_cast<std::size_t>((image * c.channels + channel) * pixels + pixel++)];
        std::int64_t number = 0;
        for_each(c.windows.sizes, [&](const Integers& tap) {
          std::int64_t place = 0;
          for (std::size_t i = 0; i < at.size(); ++i) {
            const std::int64_t to = at[i] * c.windows.strides[i] + tap[i] * c.windows.dilations[i] -
                                    c.windows.before[i];
            place = place < 0 || to < 0 || to >= out[i] ? -1 : place * out[i] + to;
          }
          for (std::int64_t filter = 0; place >= 0 && filter < width; ++filter) {
            const std::int64_t result = channel / depth * width + filter;
            y[static_cast<std::size_t>((image * c.filters + result) * product(out) + place)] +=
                value *
                double{w[static_cast<std::size_t>((channel * width + filter) * taps + number)]};
          }
          ++number;
        });
      });
    }
  }
  return y;
}

void check_transposed(const ConvCase& c, const Integers& more, bool constant_filters = true) {
  const auto words = [](const Integers& integers) { return to_string(Shape(integers)); };
  INFO("image ", words(c.windows.image), ", filters ", words(c.windows.sizes), ", strides ",
       words(c.windows.strides), ", pads ", words(c.windows.pads()), ", output padding ",
       words(more), ", channels ", c.channels, " to ", c.filters, " in ", c.groups, ", batch ",
       c.batch, constant_filters ? std::string() : ", filters from the run");
  OnnxFile file;
  declare_image(file, c.windows.image.size(), static_cast<int>(c.channels));
  file.output("y");
  Integers filter_dims{c.channels, c.filters / c.groups}, out;
  filter_dims.insert(filter_dims.end(), c.windows.sizes.begin(), c.windows.sizes.end());
  for (std::size_t i = 0; i < c.windows.image.size(); ++i) {
    out.push_back((c.windows.image[i] - 1) * c.windows.strides[i] + more[i] +
                  (c.windows.sizes[i] - 1) * c.windows.dilations[i] + 1 - c.windows.before[i] -
                  c.windows.after[i]);
  }
  std::vector<float> x =
      random_floats(static_cast<std::size_t>(c.batch * c.channels * product(c.windows.image)));
  std::vector<float> w = random_floats(static_cast<std::size_t>(product(filter_dims)), -1, 1.5F);
  const std::vector<float> bias = random_floats(static_cast<std::size_t>(c.filters));
  file.floats("b", {c.filters}, bias);
  std::vector<std::pair<std::string, std::pair<std::vector<float>*, Shape>>> inputs{
      {"x", {&x, shape_of(c.batch, c.channels, c.windows.image)}}};
  if (constant_filters) {
    file.floats("w", filter_dims, w);
  } else {
    file.input("w", {});
    for (const std::int64_t dim : filter_dims)
      file.model.mutable_graph()
          ->mutable_input(1)
          ->mutable_type()
          ->mutable_tensor_type()
          ->mutable_shape()
          ->add_dim()
          ->set_dim_value(dim);
    inputs.push_back({"w", {&w, filter_dims}});
  }
  onnx::NodeProto& node = file.node("ConvTranspose", {"x", "w", "b"}, {"y"});
  set_list(node, "strides", c.windows.strides);
  set_list(node, "dilations", c.windows.dilations);
  set_list(node, "pads", c.windows.pads());
  set_list(node, "output_padding", more);
  set(node, "group", c.groups);
  const Result result = run(file, inputs);
  CHECK(result.shape == shape_of(c.batch, c.filters, out));
  check_close(result.values, scattered(c, out, x, w, bias), 1e-5);
}

}  // namespace

TEST_CASE("imported transposed convolutions, strided, dilated, cut and grouped") {
  check_transposed({{{6}, {3}, {1}, {1}, {0}, {0}}, 2, 4, 5, 1, true}, {0});
  check_transposed({{{5, 4}, {3, 2}, {2, 3}, {1, 1}, {1, 0}, {1, 1}}, 2, 4, 5, 1, true}, {1, 2});
  check_transposed({{{5, 4}, {2, 2}, {2, 2}, {2, 1}, {0, 2}, {1, 1}}, 1, 6, 4, 2, true}, {0, 0});
  check_transposed({{{4, 3}, {2, 2}, {2, 2}, {1, 1}, {1, 2}, {2, 1}}, 2, 3, 7, 1, true}, {0, 1});
}

TEST_CASE("pads that cut off more than a transposed convolution gives are refused") {
  OnnxFile file;
  file.input("x", {1, 1, 4}).floats("w", {1, 1, 2}, {1, 2}).output("y");
  onnx::NodeProto& node = file.node("ConvTranspose", {"x", "w"}, {"y"});
  set_list(node, "strides", {2});
  set_list(node, "pads", {0, 9});
  testing::check_error(file, ErrorKind::model, {"ConvTranspose", "its pads cut off more"});
}

TEST_CASE("a transposed convolution of a stride far beyond its filters takes no memory for that") {
  OnnxFile file;
  file.input("x", {1, 1, 1}).floats("w", {1, 1, 1}, {3}).output("y");
  onnx::NodeProto& node = file.node("ConvTranspose", {"x", "w"}, {"y"});
  set_list(node, "strides", {std::int64_t{1} << 16});
  std::vector<float> x{2};
  CHECK(run(file, {{"x", {&x, {1, 1, 1}}}}).values == Values{6});
}

TEST_CASE("imported transposed convolutions of random strides, filters, pads and groups") {
  const auto below = [](std::int64_t end) {
    return static_cast<std::int64_t>(testing::generator()() % static_cast<std::uint64_t>(end));
  };
  for (int round = 0; round < testing::test_rounds(120, 4); ++round) {
    const std::size_t axes = 1 + static_cast<std::size_t>(below(3));
    Windows windows;
    Integers more;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t stride = 1 + below(3), size = 1 + below(5);
      windows.image.push_back(2 + below(axes == 3 ? 2 : 5));
      windows.sizes.push_back(size);
      windows.strides.push_back(stride);
      windows.dilations.push_back(1);
      more.push_back(below(stride));
      const std::int64_t whole = (windows.image[i] - 1) * stride + size + more[i];
      windows.before.push_back(std::min(below(size + 2), whole - 1));
      windows.after.push_back(std::min(below(size + 1), whole - 1 - windows.before[i]));
    }
    const std::int64_t groups = 1 + below(2);
    check_transposed(
        {windows, 1 + below(2), groups * (1 + below(3)), groups * (1 + below(3)), groups, true},
        more, below(3) != 0);
  }
}
