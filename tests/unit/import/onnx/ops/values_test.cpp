// The results of imported operators, beside plain loops in double precision, on random asymmetric
// data.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "dyn/error.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::at;
using testing::check_close;
using testing::load;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::run_all;
using testing::sigmoid;
using testing::Values;

namespace {

using Unary = std::function<double(double)>;

/// y = op(x) at 3 x 7 elements.
void check_unary(const std::string& op, const Unary& function,
                 const std::function<void(onnx::NodeProto&)>& attributes = {}, float low = -2.5F) {
  CAPTURE(op);
  OnnxFile file;
  file.input("x", {"N", 7}).output("y");
  onnx::NodeProto& node = file.node(op, {"x"}, {"y"});
  if (attributes) attributes(node);
  std::vector<float> x = random_floats(21, low);
  Values expected;
  for (const float each : x) expected.push_back(function(static_cast<double>(each)));
  const Result result = run(file, {{"x", {&x, {3, 7}}}});
  CHECK(result.shape == Shape{3, 7});
  check_close(result.values, expected);
}

double softplus(double x) { return std::log1p(std::exp(x)); }

}  // namespace

TEST_CASE("imported functions of one operand") {
  check_unary("Relu", [](double x) { return std::max(x, 0.0); });
  check_unary("Erf", [](double x) { return std::erf(x); });
  check_unary("Reciprocal", [](double x) { return 1 / x; }, {}, 0.3F);
  check_unary("Log", [](double x) { return std::log(x); }, {}, 0.1F);
  check_unary("Round", [](double x) { return std::nearbyint(x); });
  check_unary("Sign", [](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; });
  check_unary("Sigmoid", sigmoid);
  check_unary("Softplus", softplus);
  check_unary("Softsign", [](double x) { return x / (1 + std::abs(x)); });
  check_unary("Mish", [](double x) { return x * std::tanh(softplus(x)); });
  check_unary("Gelu", [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); });
  check_unary("HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  check_unary(
      "HardSigmoid", [](double x) { return std::clamp(0.3 * x + 0.4, 0.0, 1.0); },
      [](onnx::NodeProto& node) {
        testing::set_number(node, "alpha", 0.3F);
        testing::set_number(node, "beta", 0.4F);
      });
  check_unary(
      "LeakyRelu", [](double x) { return x < 0 ? 0.2 * x : x; },
      [](onnx::NodeProto& node) { testing::set_number(node, "alpha", 0.2F); });
  check_unary(
      "Elu", [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; },
      [](onnx::NodeProto& node) { testing::set_number(node, "alpha", 1.5F); });
  check_unary("Selu", [](double x) {
    return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x);
  });
  check_unary(
      "Celu", [](double x) { return std::max(x, 0.0) + std::min(0.0, 2 * std::expm1(x / 2)); },
      [](onnx::NodeProto& node) { testing::set_number(node, "alpha", 2); });
  check_unary(
      "ThresholdedRelu", [](double x) { return x > 0.5 ? x : 0; },
      [](onnx::NodeProto& node) { testing::set_number(node, "alpha", 0.5F); });
  check_unary("Identity", [](double x) { return x; });
  check_unary("Dropout", [](double x) { return x; });
}

TEST_CASE("imported remainders have the sign of either side") {
  for (const bool of_dividend : {false, true}) {
    OnnxFile file;
    file.input("x", {"N"}).input("b", {"N"}).output("y");
    testing::set(file.node("Mod", {"x", "b"}, {"y"}), "fmod", of_dividend ? 1 : 0);
    std::vector<float> a = random_floats(40), b = random_floats(40, 0.4F, 1.7F);
    for (std::size_t i = 0; i < b.size(); i += 2) b[i] = -b[i];
    Values expected;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      expected.push_back(of_dividend ? std::fmod(x, y) : x - y * std::floor(x / y));
    }
    check_close(run(file, {{"x", {&a, {40}}}, {"b", {&b, {40}}}}).values, expected, 1e-5);
  }
}

TEST_CASE("a remainder of zero has the divisor's sign") {
  for (const int type : {onnx::TensorProto::FLOAT, onnx::TensorProto::DOUBLE}) {
    CAPTURE(type);
    OnnxFile file;
    file.input("x", {"N"}, type).input("b", {"N"}, type).output("y");
    file.node("Mod", {"x", "b"}, {"y"});
    const std::vector<double> x{6, -6, 0.0, -0.0, 5}, b{3, 3, -2, 2, -2.5};
    const std::vector<float> narrow_x(x.begin(), x.end()), narrow_b(b.begin(), b.end());
    const bool is_wide = type == onnx::TensorProto::DOUBLE;
    const NamedTensors inputs{
        {"x", is_wide ? Tensor::view(x.data(), {5}) : Tensor::view(narrow_x.data(), {5})},
        {"b", is_wide ? Tensor::view(b.data(), {5}) : Tensor::view(narrow_b.data(), {5})}};
    const Values actual = testing::run_all(file, inputs).front().values;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK(actual[i] == 0);
      CHECK(std::signbit(actual[i]) == std::signbit(b[i]));
    }
  }
}

TEST_CASE("an imported Pad takes an element that a run gives") {
  OnnxFile file;
  file.input("x", {"A", "B"}).input("v", {1}).integers("p", {4}, {1, -1, 0, 2}).output("y");
  file.node("Pad", {"x", "p", "v"}, {"y"});
  for (const std::int64_t columns : {1, 4}) {
    std::vector<float> x = random_floats(static_cast<std::size_t>(2 * columns)), v{7.5F};
    Values expected;
    for (std::int64_t i = -1; i < 2; ++i)
      for (std::int64_t j = 1; j < columns + 2; ++j)
        expected.push_back(i < 0 || j >= columns ? 7.5 : at(x, i * columns + j));
    check_close(run(file, {{"x", {&x, {2, columns}}}, {"v", {&v, {1}}}}).values, expected, 1e-12);
  }
}

TEST_CASE("an imported Gemm scales its product and its sum, and takes either side transposed") {
  for (int bits = 0; bits < 4; ++bits) {
    const bool transpose_a = (bits & 1) != 0, transpose_b = (bits & 2) != 0;
    constexpr int m = 3, n = 5, k = 4;
    OnnxFile file;
    if (transpose_a)
      file.input("a", {k, "M"});
    else
      file.input("a", {"M", k});
    std::vector<float> a = random_floats(m * k), b = random_floats(n * k), c = random_floats(n);
    const std::vector<std::int64_t> b_dims =
        transpose_b ? std::vector<std::int64_t>{n, k} : std::vector<std::int64_t>{k, n};
    file.floats("b", b_dims, b).floats("c", {n}, c).output("y");
    onnx::NodeProto& node = file.node("Gemm", {"a", "b", "c"}, {"y"});
    testing::set(testing::set(node, "transA", transpose_a), "transB", transpose_b);
    testing::set_number(testing::set_number(node, "alpha", 0.7F), "beta", -1.3F);
    Values expected;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        double sum = 0;
        for (int p = 0; p < k; ++p)
          sum +=
              static_cast<double>(
                  a[static_cast<std::size_t>(transpose_a ? p * m + i : i * k + p)]) *
              static_cast<double>(b[static_cast<std::size_t>(transpose_b ? j * k + p : p * n + j)]);
        expected.push_back(static_cast<double>(0.7F) * sum +
                           static_cast<double>(-1.3F) *
                               static_cast<double>(c[static_cast<std::size_t>(j)]));
      }
    }
    check_close(run(file, {{"a", {&a, transpose_a ? Shape{k, m} : Shape{m, k}}}}).values, expected,
                1e-5);
  }
}

TEST_CASE("an imported MatMul takes vectors on either side") {
  std::vector<float> row = random_floats(4), matrix = random_floats(24), column = random_floats(3);
  OnnxFile left;
  left.input("a", {4}).input("b", {2, 4, 3}).output("y");
  left.node("MatMul", {"a", "b"}, {"y"});
  Values expected;
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t p = 0; p < 4; ++p)
        sum += static_cast<double>(row[p]) * static_cast<double>(matrix[i * 12 + p * 3 + j]);
      expected.push_back(sum);
    }
  }
  Result result = run(left, {{"a", {&row, {4}}}, {"b", {&matrix, {2, 4, 3}}}});
  CHECK(result.shape == Shape{2, 3});
  check_close(result.values, expected, 1e-5);
  OnnxFile right;
  right.input("a", {2, 4, 3}).input("b", {3}).output("y");
  right.node("MatMul", {"a", "b"}, {"y"});
  expected.clear();
  for (std::size_t i = 0; i < 8; ++i) {
    double sum = 0;
    for (std::size_t p = 0; p < 3; ++p)
      sum += static_cast<double>(matrix[i * 3 + p]) * static_cast<double>(column[p]);
    expected.push_back(sum);
  }
  result = run(right, {{"a", {&matrix, {2, 4, 3}}}, {"b", {&column, {3}}}});
  CHECK(result.shape == Shape{2, 4});
  check_close(result.values, expected, 1e-5);
}

TEST_CASE(
    "an imported softmax is over one axis from opset 13 on, and over all from its axis before") {
  for (const int opset : {11, 13}) {
    for (const bool is_log : {false, true}) {
      OnnxFile file(opset);
      file.input("x", {"N", 3, 5}).output("y");
      testing::set(file.node(is_log ? "LogSoftmax" : "Softmax", {"x"}, {"y"}), "axis", 1);
      std::vector<float> x = random_floats(30);
      Values expected(30);
      for (std::size_t i = 0; i < 30; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < 30; ++j) {
          const bool together = opset < 13 ? j / 15 == i / 15 : j / 15 == i / 15 && j % 5 == i % 5;
          if (together) sum += std::exp(static_cast<double>(x[j]));
        }
        expected[i] = is_log ? static_cast<double>(x[i]) - std::log(sum)
                             : std::exp(static_cast<double>(x[i])) / sum;
      }
      check_close(run(file, {{"x", {&x, {2, 3, 5}}}}).values, expected, 1e-5);
    }
  }
}

TEST_CASE(
    "an imported layer normalisation is over all axes from its own on, an instance normalisation "
    "over all but two") {
  for (const bool instance : {false, true}) {
    OnnxFile file;
    file.input("x", {"N", 3, 5}).output("y");
    std::vector<float> x = random_floats(30), scale = random_floats(instance ? 3 : 15),
                       bias = random_floats(instance ? 3 : 15);
    const std::vector<std::int64_t> dims =
        instance ? std::vector<std::int64_t>{3} : std::vector<std::int64_t>{3, 5};
    file.floats("s", dims, scale).floats("b", dims, bias);
    onnx::NodeProto& node = file.node(instance ? "InstanceNormalization" : "LayerNormalization",
                                      {"x", "s", "b"}, {"y"});
    if (!instance) testing::set(node, "axis", 1);
    testing::set_number(node, "epsilon", 0.01F);
    const std::size_t group = instance ? 5 : 15;
    Values expected;
    for (std::size_t i = 0; i < 30; ++i) {
      const std::size_t first = i / group * group;
      double mean = 0, variance = 0;
      for (std::size_t j = first; j < first + group; ++j)
        mean += static_cast<double>(x[j]) / static_cast<double>(group);
      for (std::size_t j = first; j < first + group; ++j)
        variance += std::pow(static_cast<double>(x[j]) - mean, 2) / static_cast<double>(group);
      const std::size_t weight = instance ? i / 5 % 3 : i % 15;
      expected.push_back((static_cast<double>(x[i]) - mean) /
                             std::sqrt(variance + static_cast<double>(0.01F)) *
                             static_cast<double>(scale[weight]) +
                         static_cast<double>(bias[weight]));
    }
    check_close(run(file, {{"x", {&x, {2, 3, 5}}}}).values, expected, 1e-5);
  }
}

TEST_CASE("imported reductions with what comes before and after") {
  const std::vector<std::pair<std::string, std::function<double(const Values&)>>> reductions = {
      {"ReduceL1",
       [](const Values& v) {
         double s = 0;
         for (const double x : v) s += std::abs(x);
         return s;
       }},
      {"ReduceL2",
       [](const Values& v) {
         double s = 0;
         for (const double x : v) s += x * x;
         return std::sqrt(s);
       }},
      {"ReduceSumSquare",
       [](const Values& v) {
         double s = 0;
         for (const double x : v) s += x * x;
         return s;
       }},
      {"ReduceLogSumExp",
       [](const Values& v) {
         double s = 0;
         for (const double x : v) s += std::exp(x);
         return std::log(s);
       }},
      {"ReduceMax", [](const Values& v) { return *std::ranges::max_element(v); }},
      {"ReduceProd",
       [](const Values& v) {
         double s = 1;
         for (const double x : v) s *= x;
         return s;
       }},
  };
  for (const auto& [op, function] : reductions) {
    for (const bool keeps : {false, true}) {
      CAPTURE(op);
      OnnxFile file(18);
      file.input("x", {"N", 4, 5}).integers("axes", {1}, {-2}).output("y");
      testing::set(file.node(op, {"x", "axes"}, {"y"}), "keepdims", keeps);
      std::vector<float> x = random_floats(40);
      Values expected;
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 5; ++j) {
          Values column;
          for (std::size_t p = 0; p < 4; ++p)
            column.push_back(static_cast<double>(x[i * 20 + p * 5 + j]));
          expected.push_back(function(column));
        }
      }
      const Result result = run(file, {{"x", {&x, {2, 4, 5}}}});
      CHECK(result.shape == (keeps ? Shape{2, 1, 5} : Shape{2, 5}));
      check_close(result.values, expected, 1e-5);
    }
  }
}

TEST_CASE("the logarithm of a sum of exponentials keeps infinities") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const bool keeps : {false, true}) {
    OnnxFile file(18);
    file.input("x", {"N", 3}).integers("axes", {1}, {1}).output("y");
    testing::set(file.node("ReduceLogSumExp", {"x", "axes"}, {"y"}), "keepdims", keeps);
    std::vector<float> x{-infinity, -infinity, -infinity, -infinity, 2,        -infinity,
                         infinity,  1,         -infinity, -infinity, infinity, infinity};
    const Values values = run(file, {{"x", {&x, {4, 3}}}}).values;
    CHECK(values[0] == -infinity);
    CHECK(values[1] == doctest::Approx(2));
    CHECK(values[2] == infinity);
    CHECK(values[3] == infinity);
    x[0] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(run(file, {{"x", {&x, {4, 3}}}}).values[0]));
  }
}

TEST_CASE("imported parts, repetitions and paddings of a tensor") {
  std::vector<float> x = random_floats(12);
  const auto at = [&](std::size_t i, std::size_t j) { return static_cast<double>(x[i * 4 + j]); };
  const auto check = [&](OnnxFile& file, const Shape& shape,
                         const std::function<double(std::size_t, std::size_t)>& expected) {
    file.input("x", {"N", 4}).output("y");
    const Result result = run(file, {{"x", {&x, {3, 4}}}});
    REQUIRE(result.shape == shape);
    for (std::size_t i = 0; i < result.values.size(); ++i) {
      const auto columns = static_cast<std::size_t>(shape[1]);
      CHECK(result.values[i] == expected(i / columns, i % columns));
    }
  };
  OnnxFile tile;
  tile.integers("r", {2}, {2, 3});
  tile.node("Tile", {"x", "r"}, {"y"});
  check(tile, {6, 12}, [&](std::size_t i, std::size_t j) { return at(i % 3, j % 4); });
  OnnxFile lower;
  lower.integers("k", {}, {-1});
  testing::set(lower.node("Trilu", {"x", "k"}, {"y"}), "upper", 0);
  check(lower, {3, 4}, [&](std::size_t i, std::size_t j) { return j + 1 <= i ? at(i, j) : 0; });
  OnnxFile upper;
  upper.integers("k", {}, {1});
  upper.node("Trilu", {"x", "k"}, {"y"});
  check(upper, {3, 4}, [&](std::size_t i, std::size_t j) { return j >= i + 1 ? at(i, j) : 0; });
  // Diagonals that are far outside: all, or nothing.
  for (const std::int64_t k :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    CAPTURE(k);
    OnnxFile far;
    far.integers("k", {}, {k});
    far.node("Trilu", {"x", "k"}, {"y"});
    check(far, {3, 4}, [&](std::size_t i, std::size_t j) { return k < 0 ? at(i, j) : 0; });
  }
  OnnxFile pad;
  pad.integers("p", {4}, {1, -1, 0, 2}).floats("v", {}, {0.5F});
  pad.node("Pad", {"x", "p", "v"}, {"y"});
  check(pad, {4, 5},
        [&](std::size_t i, std::size_t j) { return i == 0 || j > 2 ? 0.5 : at(i - 1, j + 1); });
  OnnxFile split;
  testing::set(split.node("Split", {"x"}, {"a", "b", "y"}), "axis", 1);
  split.model.mutable_graph()->mutable_node(0)->mutable_output()->RemoveLast();
  split.model.mutable_graph()->mutable_node(0)->set_output(1, "y");
  check(split, {3, 2}, [&](std::size_t i, std::size_t j) { return at(i, j + 2); });
  OnnxFile backwards;
  backwards.integers("s", {1}, {-1})
      .integers("e", {1}, {0})
      .integers("a", {1}, {1})
      .integers("t", {1}, {-2});
  backwards.node("Slice", {"x", "s", "e", "a", "t"}, {"y"});
  check(backwards, {3, 2}, [&](std::size_t i, std::size_t j) { return at(i, 3 - 2 * j); });
}

TEST_CASE("an imported batch normalisation, and a clip before and after its bounds became inputs") {
  OnnxFile file;
  file.input("x", {"N", 3, 2}).output("y");
  std::vector<float> x = random_floats(12), scale = random_floats(3), bias = random_floats(3),
                     mean = random_floats(3), variance = random_floats(3, 0.5F);
  file.floats("s", {3}, scale)
      .floats("b", {3}, bias)
      .floats("m", {3}, mean)
      .floats("v", {3}, variance);
  file.node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"n"});
  file.floats("low", {}, {-0.5F});
  file.node("Clip", {"n", "low"}, {"y"});
  OnnxFile old(9);
  old.input("x", {"N", 3, 2}).output("y");
  testing::set_number(testing::set_number(old.node("Clip", {"x"}, {"y"}), "min", -0.5F), "max",
                      1.25F);
  Values normal, clipped;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t c = i / 2 % 3;
    const double y = (static_cast<double>(x[i]) - static_cast<double>(mean[c])) /
                         std::sqrt(static_cast<double>(variance[c]) + 1e-5) *
                         static_cast<double>(scale[c]) +
                     static_cast<double>(bias[c]);
    normal.push_back(std::max(y, -0.5));
    clipped.push_back(std::clamp(static_cast<double>(x[i]), -0.5, 1.25));
  }
  check_close(run(file, {{"x", {&x, {2, 3, 2}}}}).values, normal, 1e-5);
  check_close(run(old, {{"x", {&x, {2, 3, 2}}}}).values, clipped);
}

TEST_CASE("LayerNormalization gives means and reciprocal deviations too") {
  for (const int wanted : {1, 2}) {
    CAPTURE(wanted);
    OnnxFile file(17);
    std::vector<float> x = random_floats(2 * 3 * 5);
    file.input("x", {"N", 3, 5}).floats("scale", {5}, random_floats(5)).output("wanted");
    onnx::NodeProto& node =
        file.node("LayerNormalization", {"x", "scale"},
                  {"y", wanted == 1 ? "wanted" : "", wanted == 2 ? "wanted" : ""});
    testing::set_number(node, "epsilon", 0.1F);
    Values expected;
    for (std::size_t row = 0; row < 6; ++row) {
      double mean = 0, variance = 0;
      for (std::size_t i = 0; i < 5; ++i) mean += static_cast<double>(x[row * 5 + i]) / 5;
      for (std::size_t i = 0; i < 5; ++i)
        variance += std::pow(static_cast<double>(x[row * 5 + i]) - mean, 2) / 5;
      expected.push_back(wanted == 1 ? mean : 1 / std::sqrt(variance + 0.1));
    }
    const Result result = run(file, {{"x", {&x, {2, 3, 5}}}});
    CHECK(result.shape == Shape{2, 3, 1});
    check_close(result.values, expected);
  }
}

TEST_CASE("an imported Expand repeats a size that is 1 in a run alone") {
  OnnxFile file;
  file.input("x", {"N", "M"}).output("y").integers("shape", {3}, {2, 3, 1});
  file.node("Expand", {"x", "shape"}, {"y"});
  const Graph graph = load(file);
  std::vector<float> x = random_floats(3 * 4);
  for (const std::int64_t rows : {3, 1}) {
    const Result result = run_all(graph, {{"x", Tensor::view(x.data(), {rows, 4})}}).front();
    CHECK(result.shape == Shape{2, 3, 4});
    Values expected;
    for (std::int64_t i = 0; i < 2 * 3 * 4; ++i)
      expected.push_back(at(x, (rows == 1 ? 0 : i / 4 % 3) * 4 + i % 4));
    CHECK(result.values == expected);
  }
  CHECK_THROWS_AS(run_all(graph, {{"x", Tensor::view(x.data(), {2, 4})}}), Error);
}

TEST_CASE("imported powers of a number that the file holds") {
  for (const float exponent : {2.0F, 3.0F, 1.0F, 0.0F, 4.0F, -1.0F, -2.0F}) {
    CAPTURE(exponent);
    OnnxFile file;
    file.input("x", {"N", 7}).output("y").floats("p", {}, {exponent});
    file.node("Pow", {"x", "p"}, {"y"});
    std::vector<float> x = random_floats(21);
    x[1] = 0;
    x[2] = std::numeric_limits<float>::infinity();
    x[3] = -std::numeric_limits<float>::infinity();
    Values expected;
    for (const float each : x)
      expected.push_back(std::pow(static_cast<double>(each), static_cast<double>(exponent)));
    const Result result = run(file, {{"x", {&x, {3, 7}}}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      if (std::isinf(expected[i]))
        CHECK(result.values[i] == expected[i]);
      else
        CHECK(std::abs(result.values[i] - expected[i]) <= 1e-6 * std::abs(expected[i]));
    }
  }
}
