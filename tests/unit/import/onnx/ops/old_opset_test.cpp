// Operators of opsets 1 to 6, which meant something else then, beside plain loops in double
// precision.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using testing::check_close;
using testing::check_error;
using testing::one_node;
using testing::OnnxFile;
using testing::random_floats;
using testing::Result;
using testing::run;
using testing::set_word;
using testing::Values;

namespace {

/// y = x - b, where b's dims stand at `axis` of x's [2, 3, 4]; -1: no axis is given.
void check_axis(int axis, const Shape& dims, const std::function<std::size_t(std::size_t)>& place) {
  CAPTURE(axis);
  OnnxFile file(6);
  std::vector<float> x = random_floats(24),
                     b = random_floats(static_cast<std::size_t>(element_count(dims)));
  file.input("x", {"N", 3, 4}).floats("b", dims, b).output("y");
  onnx::NodeProto& node = file.node("Sub", {"x", "b"}, {"y"});
  testing::set(node, "broadcast", 1);
  if (axis >= 0) testing::set(node, "axis", axis);
  Values expected;
  for (std::size_t i = 0; i < x.size(); ++i)
    expected.push_back(static_cast<double>(x[i]) - static_cast<double>(b[place(i)]));
  check_close(run(file, {{"x", {&x, {2, 3, 4}}}}).values, expected);
}

}  // namespace

TEST_CASE("before opset 7 an axis says where the second operand's first dim stands") {
  check_axis(-1, {4}, [](std::size_t i) { return i % 4; });
  check_axis(1, {3}, [](std::size_t i) { return i / 4 % 3; });
  check_axis(1, {3, 4}, [](std::size_t i) { return i % 12; });
  check_axis(0, {2}, [](std::size_t i) { return i / 12; });
  check_axis(0, {2, 3}, [](std::size_t i) { return i / 4; });
  check_axis(2, {1}, [](std::size_t) { return 0; });
  OnnxFile file(6);
  file.input("x", {"N", 3}).floats("b", {3, 2}, random_floats(6)).output("y");
  testing::set(file.node("Sub", {"x", "b"}, {"y"}), "axis", 1);
  check_error(file, ErrorKind::model, {"input 1 has 2 dims", "from axis 1 on"});
}

TEST_CASE("before opset 7 a vector of slopes has one for each channel") {
  for (const int opset : {6, 7}) {
    CAPTURE(opset);
    OnnxFile file(opset);
    std::vector<float> x = random_floats(2 * 3 * 3), slopes = random_floats(3);
    file.input("x", {"N", 3, 3}).floats("slopes", {3}, slopes).output("y");
    file.node("PRelu", {"x", "slopes"}, {"y"});
    Values expected;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double number = static_cast<double>(x[i]);
      expected.push_back(number < 0
                             ? number * static_cast<double>(slopes[opset < 7 ? i / 3 % 3 : i % 3])
                             : number);
    }
    check_close(run(file, {{"x", {&x, {2, 3, 3}}}}).values, expected);
  }
}

TEST_CASE("before opset 7 operators train where is_test is not set") {
  check_error(one_node("Dropout", 6), ErrorKind::unsupported, {"Dropout", "is_test"});
  OnnxFile tests(6);
  tests.input("x", {"N", 5}).output("y");
  testing::set(tests.node("Dropout", {"x"}, {"y"}), "is_test", 1);
  std::vector<float> x = random_floats(10);
  check_close(run(tests, {{"x", {&x, {2, 5}}}}).values, Values(x.begin(), x.end()));
  OnnxFile norm(6);
  norm.input("x", {"N", 3, 2}).output("y");
  for (const char* name : {"scale", "bias", "mean", "variance"})
    norm.floats(name, {3}, random_floats(3, 0.5F));
  norm.node("BatchNormalization", {"x", "scale", "bias", "mean", "variance"}, {"y"});
  check_error(norm, ErrorKind::unsupported, {"BatchNormalization", "is_test"});
}

TEST_CASE("before opset 6 dtypes are words") {
  OnnxFile file(5);
  file.input("x", {"N"}).output("y");
  set_word(file.node("Cast", {"x"}, {"y"}), "to", "INT32");
  CHECK(testing::statements_of(file).find("dtype=i32") != std::string::npos);
  OnnxFile unknown(5);
  unknown.input("x", {"N"}).output("y");
  set_word(unknown.node("Cast", {"x"}, {"y"}), "to", "INT33");
  check_error(unknown, ErrorKind::model, {"there is no dtype INT33"});
}

TEST_CASE("before opset 6 one axis is tiled") {
  OnnxFile file(5);
  std::vector<float> x = random_floats(6);
  file.input("x", {"N", 3}).integers("tiles", {}, {2}).integers("axis", {}, {1}).output("y");
  file.node("Tile", {"x", "tiles", "axis"}, {"y"});
  Values expected;
  for (std::size_t i = 0; i < 12; ++i)
    expected.push_back(static_cast<double>(x[i / 6 * 3 + i % 3]));
  const Result result = run(file, {{"x", {&x, {2, 3}}}});
  CHECK(result.shape == Shape{2, 6});
  check_close(result.values, expected);
}

TEST_CASE("opset 1 joins along axis 1, and pads by the attribute paddings") {
  OnnxFile join(1);
  std::vector<float> x = random_floats(6), y = random_floats(4);
  join.input("x", {"N", 3}).input("y", {"N", 2}).output("z");
  join.node("Concat", {"x", "y"}, {"z"});
  Values joined;
  for (std::size_t row = 0; row < 2; ++row)
    for (std::size_t i = 0; i < 5; ++i)
      joined.push_back(static_cast<double>(i < 3 ? x[row * 3 + i] : y[row * 2 + i - 3]));
  check_close(run(join, {{"x", {&x, {2, 3}}}, {"y", {&y, {2, 2}}}}).values, joined);

  OnnxFile pad(1);
  pad.input("x", {"N", 3}).output("y");
  testing::set_list(testing::set_number(pad.node("Pad", {"x"}, {"y"}), "value", 9), "paddings",
                    {0, 1, 0, 2});
  Values padded;
  for (std::size_t i = 0; i < 12; ++i)
    padded.push_back(i % 6 >= 1 && i % 6 <= 3 ? static_cast<double>(x[i / 6 * 3 + i % 6 - 1]) : 9);
  check_close(run(pad, {{"x", {&x, {2, 3}}}}).values, padded);
}

TEST_CASE("Selu's factors have fewer digits before opset 6") {
  for (const int opset : {5, 6}) {
    CAPTURE(opset);
    std::vector<float> x = random_floats(20);
    Values expected;
    const double alpha = opset == 5 ? 1.6732 : 1.67326319217681884765625,
                 gamma = opset == 5 ? 1.0507 : 1.05070102214813232421875;
    for (const float each : x)
      expected.push_back(gamma * (each < 0 ? alpha * std::expm1(static_cast<double>(each))
                                           : static_cast<double>(each)));
    check_close(run(one_node("Selu", opset), {{"x", {&x, {5, 4}}}}).values, expected);
  }
}

TEST_CASE("opset 1 has numbers for the p of pools") {
  OnnxFile file(1);
  std::vector<float> x = random_floats(12);
  file.input("x", {"N", 2, 3}).output("y");
  testing::set_number(file.node("GlobalLpPool", {"x"}, {"y"}), "p", 3);
  Values expected;
  for (std::size_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i)
      sum += std::pow(std::abs(static_cast<double>(x[row * 3 + i])), 3);
    expected.push_back(std::cbrt(sum));
  }
  check_close(run(file, {{"x", {&x, {2, 2, 3}}}}).values, expected);
}
