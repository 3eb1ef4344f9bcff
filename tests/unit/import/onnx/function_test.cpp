// Functions that a model defines.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "src/import/onnx/import.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/import/onnx/imported.hpp"
#include "tests/unit/import/onnx/values.hpp"

using namespace dyn;
using onnx::AttributeProto;
using onnx::FunctionProto;
using testing::check_error;
using testing::OnnxFile;
using testing::random_floats;
using testing::statements_of;
using Doubles = testing::Values;  // not dyn::Values

namespace {

/// local.Leaky(a, b) = LeakyRelu(a * b, alpha), alpha 0.25 where a call has none; `t` and `a` are
/// names of the graph as well.
void add_leaky(OnnxFile& file) {
  FunctionProto& function = file.function("Leaky", {"a", "b"}, {"y"});
  AttributeProto& usual = *function.add_attribute_proto();
  usual.set_name("slope");
  usual.set_type(AttributeProto::FLOAT);
  usual.set_f(0.25F);
  testing::node(function, "Mul", {"a", "b"}, {"t"});
  testing::set_reference(testing::node(function, "LeakyRelu", {"t"}, {"y"}), "alpha", "slope",
                         AttributeProto::FLOAT);
}

OnnxFile calls_of(const std::string& function) {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y");
  file.call(function, {"x"}, {"y"});
  return file;
}

/// A model with rows of this length.
Doubles softmax_of(const Doubles& x, std::size_t length) {
  Doubles y(x.size());
  for (std::size_t begin = 0; begin < x.size(); begin += length) {
    double sum = 0;
    for (std::size_t i = begin; i < begin + length; ++i) sum += y[i] = std::exp(x[i]);
    for (std::size_t i = begin; i < begin + length; ++i) y[i] /= sum;
  }
  return y;
}

}  // namespace

TEST_CASE("a function is its nodes, with the call's inputs, attributes and names of its own") {
  OnnxFile file;
  const std::vector<float> w = random_floats(3), v = random_floats(3);
  file.input("a", {"N", 3}).floats("w", {3}, w).floats("v", {3}, v).output("y");
  add_leaky(file);
  testing::set_number(file.call("Leaky", {"a", "w"}, {"t"}), "slope", 0.5F);
  file.call("Leaky", {"v", "t"}, {"b"});
  file.node("Sub", {"b", "a"}, {"y"});
  std::vector<float> a = random_floats(5 * 3);
  const testing::Result result = testing::run(file, {{"a", {&a, {5, 3}}}});
  Doubles expected;
  const auto leaky = [](double x, double slope) { return x < 0 ? x * slope : x; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double t = leaky(static_cast<double>(a[i]) * static_cast<double>(w[i % 3]), 0.5);
    expected.push_back(leaky(static_cast<double>(v[i % 3]) * t, 0.25) - static_cast<double>(a[i]));
  }
  testing::check_close(result.values, expected);
}

TEST_CASE("a weight that several calls are given is one weight, under the graph's name") {
  OnnxFile file;
  file.input("x", {"N", 3}).floats("w", {3}, {1, 2, 3}).output("y");
  FunctionProto& function = file.function("Scale", {"a", "b"}, {"y"});
  testing::node(function, "Mul", {"a", "b"}, {"t"});
  testing::node(function, "Relu", {"t"}, {"y"});
  file.call("Scale", {"x", "w"}, {"h"});
  file.call("Scale", {"h", "w"}, {"y"});
  CHECK(statements_of(file) ==
        "  t = x * w: f32[3]\n  y = relu(t)\n  t_2 = y * w\n  y_2 = relu(t_2)\n  return y_2\n");
}

TEST_CASE("inputs and outputs that a call leaves out are left out in the function") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("low", {}, {-1}).floats("high", {}, {2}).output("y");
  FunctionProto& function = file.function("Bounded", {"x", "from", "to"}, {"double", "y"});
  testing::node(function, "Clip", {"x", "from", "to"}, {"y"});
  testing::node(function, "Add", {"y", "y"}, {"double"});
  file.call("Bounded", {"x", "", "high"}, {"", "a"});
  file.call("Bounded", {"a", "low"}, {"", "y"});
  std::vector<float> x = random_floats(3 * 4, -4, 4);
  const testing::Result result = testing::run(file, {{"x", {&x, {3, 4}}}});
  Doubles expected;
  for (const float each : x) expected.push_back(std::clamp(static_cast<double>(each), -1.0, 2.0));
  testing::check_close(result.values, expected);
}

TEST_CASE("functions call functions, and hand attributes on") {
  OnnxFile file;
  file.input("x", {"N", 4}).floats("w", {4}, {-3, 5, -7, 0.5F}).output("y");
  add_leaky(file);
  FunctionProto& outer = file.function("Outer", {"b", "a"}, {"y", "t"});
  outer.add_attribute("gain");
  testing::set_reference(testing::call(outer, "Leaky", {"b", "a"}, {"t"}), "slope", "gain",
                         AttributeProto::FLOAT);
  testing::call(outer, "Leaky", {"t", "b"}, {"y"});
  testing::set_number(file.call("Outer", {"x", "w"}, {"t"}), "gain", 2);
  file.call("Outer", {"t", "x"}, {"y"});
  std::vector<float> x = random_floats(2 * 4);
  const testing::Result result = testing::run(file, {{"x", {&x, {2, 4}}}});
  const std::vector<double> w{-3, 5, -7, 0.5};
  const auto leaky = [](double value, double slope) { return value < 0 ? value * slope : value; };
  const auto called = [&](double b, double a, double gain) {
    return leaky(leaky(b * a, gain) * b, 0.25);
  };
  Doubles expected;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = called(static_cast<double>(x[i]), w[i % 4], 2);
    expected.push_back(called(t, static_cast<double>(x[i]), 0.25));
  }
  testing::check_close(result.values, expected, 1e-5);
}

TEST_CASE(
    "a function has the version of the standard operators that it imports, its caller its own") {
  OnnxFile file;
  file.input("x", {"N", 3, 4}).floats("gain", {}, {9}).output("y");
  testing::node(file.function("Old", {"x"}, {"y"}, 11), "Softmax", {"x"}, {"y"});
  file.call("Old", {"x"}, {"shares"});
  file.node("Mul", {"shares", "gain"}, {"scaled"});
  file.node("Softmax", {"scaled"}, {"y"});
  std::vector<float> x = random_floats(2 * 3 * 4);
  const testing::Result result = testing::run(file, {{"x", {&x, {2, 3, 4}}}});
  Doubles scaled = softmax_of(Doubles(x.begin(), x.end()),
                              3 * 4);  // up to opset 12 over all dims from the second on
  for (double& each : scaled) each *= 9;
  testing::check_close(result.values, softmax_of(scaled, 4), 1e-5);
  OnnxFile future = calls_of("New");
  testing::node(future.function("New", {"x"}, {"y"}, 0), "Relu", {"x"}, {"y"});
  check_error(future, ErrorKind::unsupported, {"opset 0", "the function local.New"});
}

TEST_CASE("a function goes before the operator of its name, and overloads are told apart") {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y");
  FunctionProto& function = file.function("Relu", {"x"}, {"y"});
  function.set_domain("ai.onnx");
  testing::node(function, "Neg", {"x"}, {"y"});
  testing::node(file.function("F", {"x"}, {"y"}), "Abs", {"x"}, {"y"});
  FunctionProto& other = file.function("F", {"x"}, {"y"});
  other.set_overload("2");
  testing::node(other, "Exp", {"x"}, {"y"});
  file.node("Relu", {"x"}, {"a"});
  file.call("F", {"a"}, {"b"}).set_overload("2");
  file.call("F", {"b"}, {"y"});
  CHECK(statements_of(file) == "  y = neg(x)\n  y_2 = exp(y)\n  y_3 = abs(y_2)\n  return y_3\n");
}

TEST_CASE(
    "operators that are not supported are named at once, those of functions that are called "
    "included") {
  OnnxFile file;
  file.input("x", {"N"}).output("y");
  FunctionProto& used = file.function("Used", {"x"}, {"y"});
  testing::node(used, "Frobnicate", {"x"}, {"t"});
  testing::node(used, "Frobnicate", {"t"}, {"u"});
  testing::node(used, "Elsewhere", {"u"}, {"y"}).set_domain("com.example");
  testing::node(file.function("Unused", {"x"}, {"y"}), "Grumble", {"x"}, {"y"});
  file.call("Used", {"x"}, {"a"});
  file.call("Used", {"a"}, {"b"});
  file.call("Missing", {"b"}, {"y"});
  check_error(
      file, ErrorKind::unsupported,
      {"3 operator(s)",
       "Frobnicate: 2 node(s), the first is Frobnicate \"Frobnicate1\" in the function local.Used",
       "com.example.Elsewhere: 1 node(s)",
       "local.Missing: 1 node(s), the first is Missing \"Missing3\""});
}

TEST_CASE("functions that call each other in a circle are refused with the circle") {
  OnnxFile file = calls_of("A");
  testing::call(file.function("A", {"x"}, {"y"}), "B", {"x"}, {"y"});
  testing::call(file.function("B", {"x"}, {"y"}), "C", {"x"}, {"y"});
  testing::call(file.function("C", {"x"}, {"y"}), "B", {"x"}, {"y"});
  check_error(file, ErrorKind::model, {"in a circle", ": local.B -> local.C -> local.B"});
  OnnxFile self = calls_of("A");
  testing::call(self.function("A", {"x"}, {"y"}), "A", {"x"}, {"y"});
  check_error(self, ErrorKind::model, {"local.A -> local.A"});
  OnnxFile wide = calls_of("F0");
  for (int i = 0; i < 1000; ++i)
    testing::call(wide.function("F" + std::to_string(i), {"x"}, {"y"}),
                  "F" + std::to_string((i + 1) % 1000), {"x"}, {"y"});
  check_error(wide, ErrorKind::model, {"local.F0 -> local.F1", "(992 more) -> local.F0"});
}

TEST_CASE("calls nest thousands deep, and an error in there names the place") {
  constexpr int depth = 5000;
  const auto nested = [](const std::string& last) {
    OnnxFile file = calls_of("F0");
    for (int i = 0; i < depth; ++i)
      testing::call(file.function("F" + std::to_string(i), {"x"}, {"y"}),
                    "F" + std::to_string(i + 1), {"x"}, {"y"});
    testing::node(file.function("F" + std::to_string(depth), {"x"}, {"y"}), "Relu", {last}, {"y"});
    return file;
  };
  CHECK(statements_of(nested("x")) == "  y = relu(x)\n  return y\n");
  check_error(nested("z"), ErrorKind::model,
              {"\"z\" is defined nowhere before it", "in Relu \"Relu1\"",
               "in the function local.F5000, 5000 calls below F0 \"F01\""});
}

TEST_CASE("a thousand bytes of calls that stand for 32,768 nodes load in time, and are right") {
  OnnxFile file;
  file.input("x", {"N", 4}).output("y");
  FunctionProto& once = file.function("f0", {"a"}, {"b"});
  testing::node(once, "Neg", {"a"}, {"n"});
  testing::node(once, "Abs", {"n"}, {"b"});
  const int depth = std::bit_width(static_cast<unsigned>(testing::test_rounds(1 << 14))) - 1;
  for (int i = 1; i <= depth; ++i) {
    FunctionProto& twice = file.function(fmt::format("f{}", i), {"a"}, {"b"});
    testing::call(twice, fmt::format("f{}", i - 1), {"a"}, {"t"});
    testing::call(twice, fmt::format("f{}", i - 1), {"t"}, {"b"});
  }
  file.call(fmt::format("f{}", depth), {"x"}, {"y"});
  std::vector<float> x = random_floats(8);
  Doubles expected;
  for (const float each : x) expected.push_back(std::abs(static_cast<double>(each)));
  testing::check_close(run(file, {{"x", {&x, {2, 4}}}}).values, expected, 1e-7);
}

TEST_CASE("calls that stand for more nodes than any memory holds are refused") {
  constexpr int depth = 64;
  OnnxFile file = calls_of("F0");
  for (int i = 0; i < depth; ++i) {
    FunctionProto& function = file.function("F" + std::to_string(i), {"x"}, {"y"});
    testing::call(function, "F" + std::to_string(i + 1), {"x"}, {"t"});
    testing::call(function, "F" + std::to_string(i + 1), {"t"}, {"y"});
  }
  testing::node(file.function("F" + std::to_string(depth), {"x"}, {"y"}), "Relu", {"x"}, {"y"});
  check_error(file, ErrorKind::model, {"the function local.F", "more than a million nodes"});
}

TEST_CASE("calls and functions that do not fit are refused with the call") {
  const auto one_function = [](const std::string& name) {
    OnnxFile file = calls_of("F");
    testing::node(file.function(name, {"x"}, {"y"}), "Relu", {"x"}, {"y"});
    return file;
  };
  OnnxFile twice = one_function("F");
  twice.function("F", {}, {});
  check_error(twice, ErrorKind::model, {"two functions are called local.F"});
  OnnxFile inputs = one_function("F");
  inputs.model.mutable_graph()->mutable_node(0)->add_input("x");
  check_error(inputs, ErrorKind::model,
              {"F \"F1\"", "it gives 2 inputs, but the function local.F has 1"});
  OnnxFile outputs = one_function("F");
  outputs.model.mutable_graph()->mutable_node(0)->add_output("z");
  check_error(outputs, ErrorKind::model,
              {"F \"F1\"", "it takes 2 outputs, but the function local.F has 1"});
  OnnxFile nowhere = one_function("F");
  nowhere.model.mutable_functions(0)->set_output(0, "z");
  check_error(nowhere, ErrorKind::model,
              {"F \"F1\"", "the output \"z\" of the function local.F is defined nowhere in it"});
  OnnxFile outside = one_function("F");
  outside.model.mutable_functions(0)->mutable_node(0)->set_input(0, "w");
  outside.floats("w", {}, {1});
  check_error(
      outside, ErrorKind::model,
      {"\"w\" is defined nowhere before it", "in the function local.F, which F \"F1\" calls"});
  OnnxFile reference = one_function("F");
  testing::set_reference(*reference.model.mutable_functions(0)->mutable_node(0), "alpha", "slope",
                         AttributeProto::FLOAT);
  check_error(reference, ErrorKind::model,
              {"Relu \"Relu1\"", "attribute slope, which the function does not have"});
  OnnxFile stray = testing::one_node("LeakyRelu");
  testing::set_reference(*stray.model.mutable_graph()->mutable_node(0), "alpha", "slope",
                         AttributeProto::FLOAT);
  check_error(stray, ErrorKind::model,
              {"LeakyRelu \"LeakyRelu1\"", "alpha refers to one of a function"});
}
