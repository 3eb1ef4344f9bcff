// Element-wise operators against values worked out by hand.

#include <cmath>

#include <doctest/doctest.h>

#include "tests/unit/reference/evaluate.hpp"

namespace dyn::testing {
namespace {

struct UnaryCase {
  const char* op;
  double x, expected;
};

const UnaryCase unary_cases[] = {
    {"neg", 2.5, -2.5},
    {"abs", -2.5, 2.5},
    {"exp", 1, 2.718281828459045},
    {"exp", -inf, 0},
    {"log", 8, 2.0794415416798357},
    {"log", 0, -inf},
    {"log", -1, nan},
    {"sqrt", 6.25, 2.5},
    {"rsqrt", 4, 0.5},
    {"reciprocal", -8, -0.125},
    {"reciprocal", 0, inf},
    {"tanh", 0.5, 0.46211715726000973},
    {"tanh", 1000, 1},
    {"erf", 0.5, 0.5204998778130465},
    {"erf", -10, -1},
    {"sigmoid", 1, 0.7310585786300049},
    {"sigmoid", -1000, 0},
    {"floor", -1.5, -2},
    {"floor", 1.5, 1},
    {"ceil", -1.5, -1},
    {"ceil", 1.25, 2},
    {"round", 0.5, 0},
    {"round", 1.5, 2},
    {"round", 2.5, 2},
    {"round", -0.5, 0},
    {"round", -1.5, -2},
    {"round", 2.75, 3},
    {"round", inf, inf},
    {"sin", 1, 0.8414709848078965},
    {"cos", 1, 0.5403023058681398},
    {"tan", 1, 1.5574077246549023},
    {"asin", -0.5, -0.5235987755982989},
    {"asin", 2, nan},
    {"acos", -0.5, 2.0943951023931957},
    {"atan", inf, 1.5707963267948966},
    {"sinh", 1, 1.1752011936438014},
    {"cosh", -1, 1.5430806348152437},
    {"asinh", -2, -1.4436354751788103},
    {"acosh", 2, 1.3169578969248166},
    {"acosh", 0.5, nan},
    {"atanh", 0.5, 0.5493061443340548},
    {"atanh", -1, -inf},
    {"relu", -3, 0},
    {"relu", 3, 3},
    {"relu", nan, nan},
    {"sign", -7, -1},
    {"sign", 0, 0},
    {"sign", 0.1, 1},
    {"silu", 1, 0.7310585786300049},
    {"gelu", 1, 0.8413447460685429},
    {"gelu", -1, -0.15865525393145707},
};

struct BinaryCase {
  const char* op;
  const char* dtype;
  double a, b, expected;
};

const BinaryCase binary_cases[] = {
    {"add", "f32", 2, 3, 5},
    {"sub", "f32", 2, 3, -1},
    {"mul", "f32", 2, 3, 6},
    {"div", "f32", 3, 2, 1.5},
    {"div", "f32", -1, 0, -inf},
    {"pow", "f32", 2, -2, 0.25},
    {"maximum", "f32", 2, 3, 3},
    {"maximum", "f32", nan, 3, nan},
    {"maximum", "f32", 3, nan, nan},
    {"minimum", "f32", 2, 3, 2},
    {"minimum", "f32", nan, 3, nan},
    {"minimum", "f32", -3, nan, nan},
    {"mod", "f32", 5.5, 3, 2.5},
    {"mod", "f32", -5.5, 3, 0.5},
    {"mod", "f32", 5.5, -3, -0.5},
    {"mod", "i64", 7, 3, 1},
    {"mod", "i64", -7, 3, 2},
    {"mod", "i64", 7, -3, -2},
    {"mod", "i64", -6, 3, 0},
    {"div", "i64", 7, 2, 3},
    {"div", "i64", -7, 2, -3},
    {"div", "i32", 7, -2, -3},
    {"add", "i32", 2147483647, 1, -2147483648.0},
    {"div", "i32", 7, 0, 0},
    {"mod", "i64", 7, 0, 0},
    {"add", "u8", 250, 10, 4},
    {"sub", "u16", 3, 5, 65534},
    {"mul", "i8", 16, 8, -128},
    {"div", "i8", -128, -1, -128},
    {"div", "u8", 250, 3, 83},
    {"mod", "u8", 250, 7, 5},
    {"mod", "i16", -7, 3, 2},
    {"mod", "i8", -128, -1, 0},
    {"pow", "i32", -3, 3, -27},
    {"pow", "u8", 3, 6, 217},
    {"pow", "i64", -1, -3, -1},
    {"pow", "i64", 2, -1, 0},
    {"maximum", "u8", 200, 100, 200},
    {"minimum", "i8", -100, 100, -100},
    {"bit_and", "u8", 0b1100, 0b1010, 0b1000},
    {"bit_or", "i16", -8, 3, -5},
    {"bit_xor", "u32", 0b1100, 0b1010, 0b0110},
    {"shift_left", "u8", 129, 1, 2},
    {"shift_left", "i8", 64, 1, -128},
    {"shift_left", "u8", 1, 8, 0},
    {"shift_right", "i8", -5, 1, -3},
    {"shift_right", "u8", 251, 1, 125},
    {"shift_right", "i8", -5, 9, -1},
    {"shift_right", "u16", 9, -1, 0},
    {"add", "f64", 1, 0x1p-50, 1 + 0x1p-50},
    {"add", "f16", 2048, 1, 2048},
    {"add", "f16", 2048, 3, 2052},
    {"mul", "f16", 300, 300, inf},
    {"add", "bf16", 256, 1, 256},
    {"mul", "i32", 65536, 65536, 0},
    {"maximum", "i64", -4, 3, 3},
    {"minimum", "i32", -4, 3, -4},
};

struct CompareCase {
  const char* op;
  double a, b;
  int expected;
};

const CompareCase compare_cases[] = {
    {"equal", 1, 1, 1},           {"equal", 1, 2, 0},         {"equal", nan, nan, 0},
    {"not_equal", nan, nan, 1},   {"less", 1, 2, 1},          {"less", 2, 2, 0},
    {"less_equal", 2, 2, 1},      {"less_equal", 3, 2, 0},    {"greater", 3, 2, 1},
    {"greater", 2, 2, 0},         {"greater_equal", 2, 2, 1}, {"greater_equal", 1, 2, 0},
    {"greater_equal", nan, 2, 0},
};

TEST_SUITE("fast") {
  TEST_CASE("unary operators") {
    for (const auto& item : unary_cases) {
      CAPTURE(item.op);
      CAPTURE(item.x);
      const auto result = evaluate(std::string(item.op) + "(a)", "f32[1]", {{"f32[1]", {item.x}}});
      CHECK(close(numbers(result), {item.expected}, 1e-15 * std::fabs(item.expected)));
    }
  }

  TEST_CASE("gelu by tanh") {
    const auto result = evaluate("gelu(a) approximate=tanh", "f32[2]", {{"f32[2]", {1, -2}}});
    CHECK(close(numbers(result), {0.8411919906082768, -0.04540230591222}, 1e-12));
  }

  TEST_CASE("binary operators") {
    for (const auto& item : binary_cases) {
      CAPTURE(item.op);
      CAPTURE(item.a);
      CAPTURE(item.b);
      const std::string type = std::string(item.dtype) + "[1]";
      const auto result =
          evaluate(std::string(item.op) + "(a, b)", type, {{type, {item.a}}, {type, {item.b}}});
      CHECK(close(numbers(result), {item.expected}));
    }
  }

  TEST_CASE("comparisons") {
    for (const auto& item : compare_cases) {
      CAPTURE(item.op);
      CAPTURE(item.a);
      CAPTURE(item.b);
      const auto result = evaluate(std::string(item.op) + "(a, b)", "bool[1]",
                                   {{"f32[1]", {item.a}}, {"f32[1]", {item.b}}});
      CHECK(result.integers == std::vector<std::int64_t>{item.expected});
    }
  }

  TEST_CASE("logic and isnan") {
    const Argument left{"bool[4]", {0, 0, 1, 1}}, right{"bool[4]", {0, 1, 0, 1}};
    CHECK(close(numbers(evaluate("logical_and(a, b)", "bool[4]", {left, right})), {0, 0, 0, 1}));
    CHECK(close(numbers(evaluate("logical_or(a, b)", "bool[4]", {left, right})), {0, 1, 1, 1}));
    CHECK(close(numbers(evaluate("logical_not(a)", "bool[4]", {left})), {1, 1, 0, 0}));
    CHECK(close(numbers(evaluate("isnan(a)", "bool[3]", {{"f32[3]", {1, nan, inf}}})), {0, 1, 0}));
  }

  TEST_CASE("broadcasting aligns at the last axis") {
    const auto result = evaluate("sub(a, b)", "f32[2, 2, 3]",
                                 {{"f32[2, 1, 3]", {1, 2, 3, 4, 5, 6}}, {"f32[2, 1]", {10, 20}}});
    CHECK(close(numbers(result), {-9, -8, -7, -19, -18, -17, -6, -5, -4, -16, -15, -14}));
  }

  TEST_CASE("where") {
    const auto result =
        evaluate("where(a, b, c)", "i64[2, 2]",
                 {{"bool[2, 1]", {1, 0}}, {"i64[2]", {5, 6}}, {"i64[2, 2]", {1, 2, 3, 4}}});
    CHECK(close(numbers(result), {5, 6, 3, 4}));
  }

  TEST_CASE("cast") {
    const Argument floats{"f32[7]", {1.9, -1.9, nan, inf, -inf, 3e9, 0}};
    CHECK(close(numbers(evaluate("cast(a) dtype=i32", "i32[7]", {floats})),
                {1, -1, 0, 2147483647, -2147483648.0, 2147483647, 0}));
    CHECK(evaluate("cast(a) dtype=i64", "i64[7]", {floats}).integers ==
          std::vector<std::int64_t>{1, -1, 0, INT64_MAX, INT64_MIN, 3000000000, 0});
    CHECK(
        close(numbers(evaluate("cast(a) dtype=bool", "bool[7]", {floats})), {1, 1, 1, 1, 1, 1, 0}));
    CHECK(close(numbers(evaluate("cast(a) dtype=i32", "i32[2]", {{"i64[2]", {4294967297, -5}}})),
                {1, -5}));
    CHECK(close(numbers(evaluate("cast(a) dtype=f32", "f32[2]", {{"bool[2]", {1, 0}}})), {1, 0}));
  }

  TEST_CASE("f32 rounds every result, f64 none") {
    const Argument third{"f32[1]", {1}}, three{"f32[1]", {3}};
    CHECK(numbers(evaluate("div(a, b)", "f32[1]", {third, three}))[0] == 1.0 / 3);
    CHECK(numbers(evaluate("div(a, b)", "f32[1]", {third, three}, reference::Precision::f32))[0] ==
          static_cast<double>(1.0F / 3.0F));
  }
}

}  // namespace
}  // namespace dyn::testing
