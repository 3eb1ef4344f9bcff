// Imported quantised operators beside plain arithmetic: results are integers, and exact.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "src/import/onnx/import.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::TensorProto;
using testing::add_constant;
using testing::check_close;
using testing::data_type_of;
using testing::generator;
using testing::OnnxFile;
using testing::random_floats;
using testing::random_integers;
using testing::Result;
using testing::run_all;
using testing::set;
using testing::set_list;
using testing::Values;

namespace {

template <class T>
double saturated(double x) {
  return std::clamp(x, static_cast<double>(std::numeric_limits<T>::min()),
                    static_cast<double>(std::numeric_limits<T>::max()));
}

/// In f32, as the operators are defined.
double rounded_quotient(float x, float scale) {
  return static_cast<double>(std::nearbyint(x / scale));
}

enum class Scales : std::uint8_t { One, ByAxis, Blocked };

/// x [rows, 6, 4]; scales along axis 1, or in blocks of 4 of it.
template <class T>
void check_both_ways(Scales scales, bool with_zero_point, bool constant) {
  CAPTURE(static_cast<int>(scales));
  CAPTURE(constant);
  constexpr std::int64_t rows = 3, columns = 6, inner = 4, block = 4;
  OnnxFile file(21);
  const std::vector<std::int64_t> dims = scales == Scales::One ? std::vector<std::int64_t>{}
                                         : scales == Scales::ByAxis
                                             ? std::vector<std::int64_t>{columns}
                                             : std::vector<std::int64_t>{rows, 2, inner};
  std::size_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
  const std::vector<float> scale = random_floats(count, 0.004F, 0.02F);
  const std::vector<T> zero_point =
      with_zero_point ? random_integers<T>(count) : std::vector<T>(count);
  std::vector<float> x = random_floats(
      rows * columns * inner, -3 * static_cast<float>(0.02 * std::pow(2.0, 8 * sizeof(T) - 2)),
      3 * static_cast<float>(0.02 * std::pow(2.0, 8 * sizeof(T) - 2)));
  for (std::size_t i = 1; i < x.size(); i += 2)
    x[i] = static_cast<float>(i) * scale[0] / 2;  // halves
  std::vector<T> q = random_integers<T>(x.size());
  file.input("x", {"R", "C", "K"}).floats("s", dims, scale).output("y").output("z");
  add_constant(file, "p", dims, zero_point);
  if (constant)
    add_constant(file, "q", {rows, columns, inner}, q);
  else
    file.input("q", {"R", "C", "K"}, data_type_of<T>);
  onnx::NodeProto& to = file.node("QuantizeLinear", {"x", "s"}, {"y"});
  onnx::NodeProto& from = file.node("DequantizeLinear", {"q", "s"}, {"z"});
  for (onnx::NodeProto* node : {&to, &from}) {
    if (with_zero_point) node->add_input("p");
    set(set(*node, "axis", 1), "block_size", scales == Scales::Blocked ? block : 0);
  }
  if (!with_zero_point) set(to, "output_dtype", data_type_of<T>);
  Values quantised, numbers;
  for (std::int64_t i = 0; i < rows * columns * inner; ++i) {
    const std::int64_t row = i / (columns * inner), column = i / inner % columns;
    const auto which = static_cast<std::size_t>(
        scales == Scales::One      ? 0
        : scales == Scales::ByAxis ? column
                                   : (row * 2 + column / block) * inner + i % inner);
    const auto at = static_cast<std::size_t>(i);
    quantised.push_back(saturated<T>(rounded_quotient(x[at], scale[which]) +
                                     static_cast<double>(zero_point[which])));
    numbers.push_back((static_cast<double>(q[at]) - static_cast<double>(zero_point[which])) *
                      static_cast<double>(scale[which]));
  }
  NamedTensors inputs = {{"x", Tensor::view(x.data(), {rows, columns, inner})}};
  if (!constant) inputs.emplace_back("q", Tensor::view(q.data(), {rows, columns, inner}));
  const std::vector<Result> results = run_all(file, inputs);
  CHECK(results[0].values == quantised);
  check_close(results[1].values, numbers);
}

}  // namespace

TEST_CASE_TEMPLATE(
    "imported numbers become integers and back, by one scale, by one for each place of an axis, "
    "and by blocks",
    T, std::uint8_t, std::int8_t, std::uint16_t, std::int16_t) {
  for (const Scales scales : {Scales::One, Scales::ByAxis, Scales::Blocked}) {
    for (const bool with_zero_point : {false, true}) {
      for (const bool constant : {false, true})
        check_both_ways<T>(scales, with_zero_point, constant);
    }
  }
}

TEST_CASE("imported numbers are quantised by their own range, which has 0 in it") {
  OnnxFile file;
  file.input("x", {"N", "M"}).output("y").output("s").output("z");
  file.node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"});
  for (const auto& [low, high] : {std::pair{-1.7F, 2.9F}, std::pair{0.5F, 3.0F},
                                  std::pair{-4.0F, -1.0F}, std::pair{0.0F, 0.0F}}) {
    CAPTURE(low);
    std::vector<float> x(35);
    if (low != high) x = random_floats(35, low, high);
    const float least = std::min(0.0F, *std::ranges::min_element(x)),
                greatest = std::max(0.0F, *std::ranges::max_element(x));
    const float scale = low == high ? 1 : (greatest - least) / 255;
    const double zero =
        saturated<std::uint8_t>(static_cast<double>(std::nearbyint(-least / scale)));
    Values expected;
    for (const float each : x)
      expected.push_back(saturated<std::uint8_t>(rounded_quotient(each, scale) + zero));
    const std::vector<Result> results = run_all(file, {{"x", Tensor::view(x.data(), {5, 7})}});
    CHECK(results[0].values == expected);
    check_close(results[1].values, {static_cast<double>(scale)});
    CHECK(results[2].values == Values{zero});
  }
}

TEST_CASE("imported products of integers are exact for sums of any length") {
  for (const bool constant : {false, true}) {
    for (const std::int64_t terms : {3, 300, 5000, 70000}) {
      CAPTURE(terms);
      constexpr std::int64_t batch = 2, rows = 3, columns = 5;
      OnnxFile file;
      std::vector<std::uint8_t> a = random_integers<std::uint8_t>(
                                    static_cast<std::size_t>(batch * rows * terms)),
                                a_zero = random_integers<std::uint8_t>(rows);
      std::vector<std::int8_t> b = random_integers<std::int8_t>(
                                   static_cast<std::size_t>(terms * columns)),
                               b_zero = random_integers<std::int8_t>(columns);
      // The greatest possible products, so that sums exceed what a float holds exactly.
      std::fill(a.begin(), a.begin() + terms, std::uint8_t{255});
      for (std::int64_t k = 0; k < terms; ++k) b[static_cast<std::size_t>(k * columns)] = -128;
      a_zero[0] = 0;
      b_zero[0] = 127;
      file.input("a", {"B", "M", static_cast<int>(terms)}, TensorProto::UINT8).output("y");
      add_constant(file, "az", {rows}, a_zero);
      add_constant(file, "bz", {columns}, b_zero);
      if (constant)
        add_constant(file, "b", {terms, columns}, b);
      else
        file.input("b", {static_cast<int>(terms), "N"}, TensorProto::INT8);
      file.node("MatMulInteger", {"a", "b", "az", "bz"}, {"y"});
      Values expected;
      for (std::int64_t i = 0; i < batch * rows * columns; ++i) {
        const std::int64_t row = i / columns, column = i % columns;
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < terms; ++k)
          sum += (std::int64_t{a[static_cast<std::size_t>(row * terms + k)]} -
                  a_zero[static_cast<std::size_t>(row % rows)]) *
                 (std::int64_t{b[static_cast<std::size_t>(k * columns + column)]} -
                  b_zero[static_cast<std::size_t>(column)]);
        expected.push_back(static_cast<double>(static_cast<std::int32_t>(sum)));
      }
      NamedTensors inputs = {{"a", Tensor::view(a.data(), {batch, rows, terms})}};
      if (!constant) inputs.emplace_back("b", Tensor::view(b.data(), {terms, columns}));
      const Result result = run_all(file, inputs).front();
      CHECK(result.shape == Shape{batch, rows, columns});
      CHECK(result.values == expected);
    }
  }
}

TEST_CASE("constant integers of a product take two bytes each in memory") {
  constexpr std::int64_t terms = 3000, columns = 64;
  OnnxFile file;
  file.input("a", {"M", int{terms}}, TensorProto::UINT8).output("y");
  std::vector<std::int8_t> b(static_cast<std::size_t>(terms * columns), -128);
  add_constant(file, "b", {terms, columns}, b);
  file.node("MatMulInteger", {"a", "b"}, {"y"});
  const Graph graph = testing::load(file);
  if (codegen::can_widen(codegen::select_isa(""), DType::bf16))
    CHECK(graph.load_report().weight_bytes <= 2 * b.size() + 4096);
  std::vector<std::uint8_t> a(static_cast<std::size_t>(2 * terms), 255);
  a[0] = 254;
  const Result result = run_all(graph, {{"a", Tensor::view(a.data(), {2, terms})}}).front();
  CHECK(result.values.front() == -128.0 * (255 * terms - 1));
  CHECK(result.values.back() == -128.0 * 255 * terms);
}

TEST_CASE("a table of dequantised integers stays such, and what is gathered becomes numbers") {
  constexpr std::int64_t rows = 300, width = 257;
  for (const TensorProto::DataType type : {TensorProto::UINT8, TensorProto::INT8}) {
    for (const int axis : {0, 1}) {
      for (const bool has_zero : {false, true}) {
        CAPTURE(type);
        CAPTURE(axis);
        CAPTURE(has_zero);
        const bool is_signed = type == TensorProto::INT8;
        const int zero = !has_zero ? 0 : is_signed ? -77 : 201;
        const std::vector<std::uint8_t> table =
            random_integers<std::uint8_t>(static_cast<std::size_t>(rows * width));
        OnnxFile file;
        file.input("i", {"N"}, TensorProto::INT64).output("y").floats("scale", {}, {0.037F});
        if (is_signed) {
          add_constant(file, "t", {rows, width},
                       std::vector<std::int8_t>(table.begin(), table.end()));
          add_constant<std::int8_t>(file, "zero", {}, {static_cast<std::int8_t>(zero)});
        } else {
          add_constant(file, "t", {rows, width}, table);
          add_constant<std::uint8_t>(file, "zero", {}, {static_cast<std::uint8_t>(zero)});
        }
        file.node("DequantizeLinear", {"t", "scale", has_zero ? "zero" : ""}, {"numbers"});
        set(file.node("Gather", {"numbers", "i"}, {"y"}), "axis", axis);
        const Graph graph = testing::load(file);
        CHECK(graph.load_report().weight_bytes <= table.size() + 4096);
        std::vector<std::int64_t> places{-1, 5, 0, 255};
        Values expected;
        const auto number = [&](std::int64_t row, std::int64_t column) {
          const std::uint8_t byte = table[static_cast<std::size_t>(row * width + column)];
          const int integer = is_signed ? static_cast<std::int8_t>(byte) : byte;
          return static_cast<double>(static_cast<float>(integer - zero) * 0.037F);
        };
        const auto place = [&](std::size_t at, std::int64_t extent) {
          return places[at] < 0 ? places[at] + extent : places[at];
        };
        for (std::size_t i = 0; i < places.size() && axis == 0; ++i)
          for (std::int64_t column = 0; column < width; ++column)
            expected.push_back(number(place(i, rows), column));
        for (std::int64_t row = 0; row < rows && axis == 1; ++row)
          for (std::size_t i = 0; i < places.size(); ++i)
            expected.push_back(number(row, place(i, width)));
        CHECK(run_all(graph, {{"i", Tensor::view(places.data(), {4})}}).front().values == expected);
      }
    }
  }
}

TEST_CASE("an imported product of a length that a run brings is exact") {
  OnnxFile file;
  file.input("a", {"M", "K"}, TensorProto::UINT8)
      .input("b", {"K", "N"}, TensorProto::UINT8)
      .output("y");
  file.node("MatMulInteger", {"a", "b"}, {"y"});
  for (const std::int64_t terms : {1, 999}) {
    std::vector<std::uint8_t> a(static_cast<std::size_t>(2 * terms), 255),
        b(static_cast<std::size_t>(terms * 3), 251);
    a[0] = 3;
    const auto whole = static_cast<double>(terms * 255 * 251), first = whole - 252.0 * 251;
    CHECK(run_all(file, {{"a", Tensor::view(a.data(), {2, terms})},
                         {"b", Tensor::view(b.data(), {terms, 3})}})
              .front()
              .values == Values{first, first, first, whole, whole, whole});
  }
}

TEST_CASE("an imported quantised product is scaled and rounded once") {
  OnnxFile file;
  constexpr std::int64_t rows = 4, terms = 20, columns = 6;
  std::vector<std::uint8_t> a = random_integers<std::uint8_t>(rows * terms),
                            b = random_integers<std::uint8_t>(terms * columns);
  const std::vector<float> scales = random_floats(columns, 0.002F, 0.01F);
  file.input("a", {"M", static_cast<int>(terms)}, TensorProto::UINT8)
      .floats("as", {}, {0.05F})
      .floats("bs", {columns}, scales)
      .floats("ys", {}, {0.3F})
      .output("y");
  add_constant<std::uint8_t>(file, "az", {}, {117});
  add_constant<std::uint8_t>(file, "bz", {}, {130});
  add_constant<std::uint8_t>(file, "yz", {}, {99});
  add_constant(file, "b", {terms, columns}, b);
  file.node("QLinearMatMul", {"a", "as", "az", "b", "bs", "bz", "ys", "yz"}, {"y"});
  Values expected;
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < terms; ++k)
      sum += (std::int64_t{a[static_cast<std::size_t>(i / columns * terms + k)]} - 117) *
             (std::int64_t{b[static_cast<std::size_t>(k * columns + i % columns)]} - 130);
    const float factor = 0.05F * scales[static_cast<std::size_t>(i % columns)] / 0.3F;
    expected.push_back(saturated<std::uint8_t>(
        static_cast<double>(std::nearbyint(static_cast<float>(sum) * factor)) + 99));
  }
  CHECK(run_all(file, {{"a", Tensor::view(a.data(), {rows, terms})}}).front().values == expected);
}

TEST_CASE(
    "an imported quantised convolution has a scale for each channel, a bias, and padding of its "
    "zero point") {
  for (const bool constant : {false, true}) {
    for (const auto& [groups, group_channels] :
         {std::pair<std::int64_t, std::int64_t>{2, 2}, {2, 40}, {1, 3}, {1, 40}}) {
      constexpr std::int64_t outputs = 6, height = 5, width = 4, taps = 9;
      const std::int64_t channels = groups * group_channels;
      OnnxFile file;
      std::vector<std::uint8_t> x =
          random_integers<std::uint8_t>(static_cast<std::size_t>(2 * channels * height * width));
      std::vector<std::int8_t> w = random_integers<std::int8_t>(
                                   static_cast<std::size_t>(outputs * group_channels * taps)),
                               w_zero = random_integers<std::int8_t>(outputs);
      const std::vector<std::int32_t> bias = random_integers<std::int32_t>(outputs);
      const std::vector<float> scales = random_floats(outputs, 0.001F, 0.005F);
      file.input("x", {"N", static_cast<int>(channels), "H", "W"}, TensorProto::UINT8)
          .floats("xs", {}, {0.04F})
          .floats("ws", {outputs}, scales)
          .floats("ys", {}, {0.11F})
          .output("y");
      add_constant<std::uint8_t>(file, "xz", {}, {131});
      add_constant<std::int8_t>(file, "yz", {}, {-7});
      add_constant(file, "wz", {outputs}, w_zero);
      add_constant(file, "b", {outputs}, bias);
      if (constant)
        add_constant(file, "w", {outputs, group_channels, 3, 3}, w);
      else
        file.input("w", {static_cast<int>(outputs), static_cast<int>(group_channels), 3, 3},
                   TensorProto::INT8);
      set(set_list(set_list(file.node("QLinearConv",
                                      {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"}, {"y"}),
                            "pads", {1, 0, 1, 2}),
                   "strides", {1, 2}),
          "group", groups);
      constexpr std::int64_t rows = height, columns = (width + 2 - 3) / 2 + 1;
      Values expected;
      for (std::int64_t i = 0; i < 2 * outputs * rows * columns; ++i) {
        const std::int64_t column = i % columns, row = i / columns % rows,
                           o = i / (rows * columns) % outputs, n = i / (rows * columns * outputs);
        std::int64_t sum = bias[static_cast<std::size_t>(o)];
        for (std::int64_t c = 0; c < group_channels; ++c) {
          for (std::int64_t tap = 0; tap < taps; ++tap) {
            const std::int64_t h = row - 1 + tap / 3, v = column * 2 + tap % 3,
                               channel = o / (outputs / groups) * group_channels + c;
            if (h < 0 || h >= height || v >= width) continue;
            sum +=
                (std::int64_t{x[static_cast<std::size_t>(
                     ((n * channels + channel) * height + h) * width + v)]} -
                 131) *
                (std::int64_t{w[static_cast<std::size_t>((o * group_channels + c) * taps + tap)]} -
                 w_zero[static_cast<std::size_t>(o)]);
          }
        }
        const float factor = 0.04F * scales[static_cast<std::size_t>(o)] / 0.11F;
        expected.push_back(saturated<std::int8_t>(
            static_cast<double>(std::nearbyint(static_cast<float>(sum) * factor)) - 7));
      }
      NamedTensors inputs = {{"x", Tensor::view(x.data(), {2, channels, height, width})}};
      if (!constant)
        inputs.emplace_back("w", Tensor::view(w.data(), {outputs, group_channels, 3, 3}));
      const Result result = run_all(file, inputs).front();
      CHECK(result.shape == Shape{2, outputs, rows, columns});
      CHECK(result.values == expected);
    }
  }
}

namespace {

/// Dequantises input `name` by constants, as quantisers write it.
void add_numbers(OnnxFile& file, const std::string& name, float scale, int zero_point,
                 TensorProto::DataType type) {
  file.floats(name + "_scale", {}, {scale});
  if (type == TensorProto::UINT8)
    add_constant<std::uint8_t>(file, name + "_zero", {}, {static_cast<std::uint8_t>(zero_point)});
  else
    add_constant<std::int8_t>(file, name + "_zero", {}, {static_cast<std::int8_t>(zero_point)});
  file.node("DequantizeLinear", {name, name + "_scale", name + "_zero"}, {name + "_numbers"});
}

/// Weights of `channels` columns with a scale for each.
void add_weight_numbers(OnnxFile& file, const std::vector<std::int64_t>& dims,
                        const std::vector<std::int8_t>& weights, const std::vector<float>& scales,
                        int axis) {
  add_constant(file, "w", dims, weights);
  file.floats("w_scale", {static_cast<std::int64_t>(scales.size())}, scales);
  add_constant(file, "w_zero", {static_cast<std::int64_t>(scales.size())},
               std::vector<std::int8_t>(scales.size()));
  set(file.node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"w_numbers"}), "axis", axis);
}

/// At most one step beside what doubles give, and seldom that.
void check_steps(const Values& found, const Values& expected) {
  REQUIRE(found.size() == expected.size());
  std::size_t unlike = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(std::abs(found[i] - expected[i]) <= 1);
    unlike += found[i] != expected[i] ? 1 : 0;
  }
  CHECK(unlike * 50 <= found.size());
}

}  // namespace

TEST_CASE("products of dequantised numbers are computed in integers, and quantised again") {
  for (const char* op : {"MatMul", "Gemm"}) {
    for (const TensorProto::DataType type : {TensorProto::UINT8, TensorProto::INT8}) {
      CAPTURE(op);
      CAPTURE(type);
      constexpr std::int64_t rows = 9, terms = 70, columns = 500;
      const bool is_gemm = std::string(op) == "Gemm";
      const int zero = type == TensorProto::UINT8 ? 117 : -13;
      OnnxFile file;
      const std::vector<std::uint8_t> bits = random_integers<std::uint8_t>(rows * terms);
      const std::vector<std::int8_t> w = random_integers<std::int8_t>(terms * columns);
      const std::vector<float> scales = random_floats(columns, 0.002F, 0.01F),
                               bias = random_floats(columns, -9, 9);
      file.input("x", {"M", int{terms}}, type).output("y");
      add_numbers(file, "x", 0.05F, zero, type);
      add_weight_numbers(file,
                         is_gemm ? std::vector<std::int64_t>{columns, terms}
                                 : std::vector<std::int64_t>{terms, columns},
                         w, scales, is_gemm ? 0 : 1);
      file.floats("c", {columns}, bias);
      if (is_gemm) {
        set(file.node(op, {"x_numbers", "w_numbers", "c"}, {"t"}), "transB", 1);
      } else {
        file.node(op, {"x_numbers", "w_numbers"}, {"s"});
        file.node("Add", {"s", "c"}, {"t"});
      }
      file.node("Relu", {"t"}, {"u"});
      file.floats("y_scale", {}, {0.3F});
      add_constant<std::uint8_t>(file, "y_zero", {}, {19});
      file.node("QuantizeLinear", {"u", "y_scale", "y_zero"}, {"y"});
      Values expected;
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        const std::int64_t column = i % columns;
        double sum = 0;
        for (std::int64_t k = 0; k < terms; ++k) {
          const std::uint8_t byte = bits[static_cast<std::size_t>(i / columns * terms + k)];
          const int x = type == TensorProto::UINT8 ? byte : static_cast<std::int8_t>(byte);
          sum += (x - zero) *
                 w[static_cast<std::size_t>(is_gemm ? column * terms + k : k * columns + column)];
        }
        const auto at = static_cast<std::size_t>(column);
        const double number = std::max(
            0.0, sum * 0.05 * static_cast<double>(scales[at]) + static_cast<double>(bias[at]));
        expected.push_back(saturated<std::uint8_t>(std::nearbyint(number / 0.3) + 19));
      }
      const Graph graph = testing::load(file);
      CHECK(graph.load_report().weight_bytes <= 2 * w.size() + 16384);
      const Tensor x =
          type == TensorProto::UINT8
              ? Tensor::view(bits.data(), {rows, terms})
              : Tensor::view(reinterpret_cast<const std::int8_t*>(bits.data()), {rows, terms});
      check_steps(run_all(graph, {{"x", x}}).front().values, expected);
    }
  }
}

TEST_CASE("a convolution of dequantised numbers pads with the zero point, and adds a whole bias") {
  struct Kind {
    std::int64_t channels, groups;
    bool counts_alike;
  };
  for (const auto& [channels, groups, counts_alike] :
       {Kind{5, 1, true}, Kind{5, 1, false}, Kind{5, 5, true}, Kind{60, 60, true},
        Kind{60, 60, false}}) {
    CAPTURE(groups);
    CAPTURE(counts_alike);
    constexpr std::int64_t outputs = 60, size = 12, taps = 9;
    constexpr float x_scale = 0.04F, w_scale = 0.003F;
    OnnxFile file;
    const std::vector<std::int8_t> x = random_integers<std::int8_t>(channels * size * size),
                                   w = random_integers<std::int8_t>(outputs * channels / groups *
                                                                    taps);
    std::vector<std::int32_t> bias;
    for (std::int64_t i = 0; i < outputs; ++i) bias.push_back(static_cast<std::int32_t>(i * 171));
    const float bias_scale = counts_alike ? x_scale * w_scale : 2 * x_scale * w_scale;
    file.input("x", {1, static_cast<int>(channels), "H", "W"}, TensorProto::INT8).output("y");
    add_numbers(file, "x", x_scale, 21, TensorProto::INT8);
    add_weight_numbers(file, {outputs, channels / groups, 3, 3}, w, {w_scale}, 0);
    add_constant(file, "b", {outputs}, bias);
    file.floats("b_scale", {}, {bias_scale});
    file.node("DequantizeLinear", {"b", "b_scale"}, {"b_numbers"});
    onnx::NodeProto& conv = file.node("Conv", {"x_numbers", "w_numbers", "b_numbers"}, {"t"});
    set_list(conv, "pads", {1, 1, 1, 1});
    set(conv, "group", groups);
    file.floats("y_scale", {}, {0.11F});
    add_constant<std::int8_t>(file, "y_zero", {}, {-7});
    file.node("QuantizeLinear", {"t", "y_scale", "y_zero"}, {"y"});
    Values expected;
    for (std::int64_t i = 0; i < outputs * size * size; ++i) {
      const std::int64_t column = i % size, row = i / size % size, o = i / (size * size);
      double sum = bias[static_cast<std::size_t>(o)] * (counts_alike ? 1 : 2);
      const std::int64_t own = channels / groups, first = o / (outputs / groups) * own;
      for (std::int64_t c = 0; c < own; ++c) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t h = row - 1 + tap / 3, v = column - 1 + tap % 3;
          if (h < 0 || v < 0 || h >= size || v >= size) continue;
          sum += (x[static_cast<std::size_t>(((first + c) * size + h) * size + v)] - 21) *
                 w[static_cast<std::size_t>((o * own + c) * taps + tap)];
        }
      }
      expected.push_back(saturated<std::int8_t>(
          std::nearbyint(sum * static_cast<double>(x_scale) * static_cast<double>(w_scale) / 0.11) -
          7));
    }
    check_steps(
        run_all(file, {{"x", Tensor::view(x.data(), {1, channels, size, size})}}).front().values,
        expected);
  }
}

TEST_CASE("an import remarks where it computes other bits than the file's operators") {
  OnnxFile file;
  file.input("x", {"M", 8}, TensorProto::UINT8).output("y");
  add_numbers(file, "x", 0.05F, 3, TensorProto::UINT8);
  add_weight_numbers(file, {8, 4}, random_integers<std::int8_t>(32), {0.01F}, 1);
  file.node("MatMul", {"x_numbers", "w_numbers"}, {"t"});
  file.floats("y_scale", {}, {0.3F});
  add_constant<std::uint8_t>(file, "y_zero", {}, {19});
  file.node("QuantizeLinear", {"t", "y_scale", "y_zero"}, {"y"});
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "m.onnx").string();
  file.save(path);
  const std::map<std::string, int> remarks = onnx::import_model(path, "w").remarks;
  REQUIRE(remarks.size() == 2);
  CHECK(remarks.begin()->first.starts_with("QuantizeLinear multiplies"));
  CHECK(remarks.rbegin()->first.starts_with("sums of products"));
  CHECK(remarks.rbegin()->second == 1);
}
