// Unary, binary, compare, where, cast, activations; every rank, broadcasts on each side.

#include <fmt/format.h>

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

struct Unary {
  const char* expression;  ///< of x
  const char* dtype;
  const char* result;
  Tolerance tolerance;
  Fill fill;
};

constexpr Tolerance::Scale element = Scale::Element;

const Unary unary[] = {
    {"neg(x)", "f32", "f32", {element, 0}, special_fill},
    {"neg(x)", "i64", "i64", {}, normal_fill},
    {"abs(x)", "f32", "f32", {element, 0}, special_fill},
    {"abs(x)", "i32", "i32", {}, normal_fill},
    {"sign(x)", "f32", "f32", {element, 0}, special_fill},
    {"sign(x)", "i64", "i64", {}, normal_fill},
    {"relu(x)", "f32", "f32", {element, 0}, special_fill},
    {"relu(x)", "i32", "i32", {}, normal_fill},
    {"exp(x)", "f32", "f32", {element, 4}, uniform(-87, 88)},
    {"exp(x)", "f32", "f32", {element, 4}, special_fill},
    {"log(x)", "f32", "f32", {element, 8}, uniform(1e-3, 1e3)},
    {"log(x)", "f32", "f32", {element, 8}, special_fill},
    {"sqrt(x)", "f32", "f32", {element, 1}, special_fill},
    {"rsqrt(x)", "f32", "f32", {element, 4}, special_fill},
    {"reciprocal(x)", "f32", "f32", {element, 4}, special_fill},
    {"tanh(x)", "f32", "f32", {element, 8}, uniform(-12, 12)},
    {"tanh(x)", "f32", "f32", {element, 8}, special_fill},
    {"erf(x)", "f32", "f32", {element, 16}, uniform(-5, 5)},
    {"erf(x)", "f32", "f32", {element, 16}, special_fill},
    {"sigmoid(x)", "f32", "f32", {element, 8}, uniform(-80, 80)},
    {"sigmoid(x)", "f32", "f32", {element, 8}, special_fill},
    {"sin(x)", "f32", "f32", {Scale::Unit, 4}, uniform(-30, 30)},
    {"cos(x)", "f32", "f32", {Scale::Unit, 4}, uniform(-30, 30)},
    {"floor(x)", "f32", "f32", {element, 0}, special_fill},
    {"ceil(x)", "f32", "f32", {element, 0}, special_fill},
    {"round(x)", "f32", "f32", {element, 0}, special_fill},
    {"isnan(x)", "f32", "bool", {}, special_fill},
    {"logical_not(x)", "bool", "bool", {}, normal_fill},
    {"gelu(x)", "f32", "f32", {Scale::Absolute, 8}, uniform(-6, 6)},
    {"gelu(x) approximate=tanh", "f32", "f32", {Scale::Absolute, 8}, uniform(-6, 6)},
    {"silu(x)", "f32", "f32", {element, 12}, uniform(-40, 40)},
    {"cast(x) dtype=i32", "f32", "i32", {}, special_fill},
    {"cast(x) dtype=i64", "f32", "i64", {}, special_fill},
    {"cast(x) dtype=bool", "f32", "bool", {}, special_fill},
    {"cast(x) dtype=f32", "i64", "f32", {element, 1}, uniform(-1e12, 1e12)},
    {"cast(x) dtype=f32", "i32", "f32", {element, 1}, uniform(-2e9, 2e9)},
    {"cast(x) dtype=f32", "bool", "f32", {element, 0}, normal_fill},
    {"cast(x) dtype=i32", "i64", "i32", {}, uniform(-1e12, 1e12)},
    {"cast(x) dtype=i64", "i32", "i64", {}, normal_fill},
    {"cast(x) dtype=i64", "bool", "i64", {}, normal_fill},
    {"cast(x) dtype=bool", "i64", "bool", {}, uniform(-1, 1)},
};

struct Binary {
  const char* op;
  std::vector<const char*> dtypes;
  const char* result;  ///< nullptr: the operands' dtype
  Tolerance tolerance;
  Fill fill;
};

const Binary binary[] = {
    {"add", {"f32", "i32", "i64"}, nullptr, {element, 1}, special_fill},
    {"sub", {"f32", "i32", "i64"}, nullptr, {element, 1}, special_fill},
    {"mul", {"f32", "i32", "i64"}, nullptr, {element, 1}, special_fill},
    {"div", {"f32", "i32", "i64"}, nullptr, {element, 2}, normal_fill},
    {"mod", {"i32", "i64"}, nullptr, {}, normal_fill},
    // Quotients of eighths are far enough from whole numbers, or are whole: the result is exact.
    {"mod", {"f32"}, nullptr, {element, 0}, eighths},
    {"pow", {"f32"}, nullptr, {element, 64}, uniform(0.1, 6)},
    {"maximum", {"f32", "i32", "i64"}, nullptr, {element, 0}, special_fill},
    {"minimum", {"f32", "i32", "i64"}, nullptr, {element, 0}, special_fill},
    {"equal", {"f32", "i32", "i64", "bool"}, "bool", {}, special_fill},
    {"not_equal", {"f32", "i32", "i64", "bool"}, "bool", {}, special_fill},
    {"less", {"f32", "i32", "i64"}, "bool", {}, special_fill},
    {"less_equal", {"f32", "i32", "i64"}, "bool", {}, special_fill},
    {"greater", {"f32", "i32", "i64"}, "bool", {}, special_fill},
    {"greater_equal", {"f32", "i32", "i64"}, "bool", {}, special_fill},
    {"logical_and", {"bool"}, "bool", {}, normal_fill},
    {"logical_or", {"bool"}, "bool", {}, normal_fill},
};

/// Sizes around every vector width, none, one, and a long one that two threads share.
const std::vector<std::int64_t> lengths = {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 97, 4099};

struct Broadcast {
  const char *a, *b, *result;
};
const Broadcast broadcasts[] = {
    {"[A, B]", "[B]", "[A, B]"},
    {"[]", "[A, B]", "[A, B]"},
    {"[A, 1]", "[A, B]", "[A, B]"},
    {"[A, 1]", "[1, B]", "[A, B]"},
    {"[A, B, 3]", "[A, 1, 3]", "[A, B, 3]"},
    {"[2, A, 1, B, 1]", "[A, 3, 1, 4]", "[2, A, 3, B, 4]"},
    {"[B, A]", "[1, 1]", "[B, A]"},
};

}  // namespace

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  for (const auto& op : unary) {
    cases.push_back({fmt::format("r = {}", op.expression),
                     fmt::format("x: {}[A, B]", op.dtype),
                     fmt::format("r: {}[A, B]", op.result),
                     product_of({{"A", {1, 3}}, {"B", lengths}}),
                     op.tolerance,
                     {op.fill}});
  }
  for (const auto& op : binary) {
    for (const std::string dtype : op.dtypes) {
      cases.push_back({fmt::format("r = {}(x, y)", op.op),
                       fmt::format("x: {0}[B], y: {0}[B]", dtype),
                       fmt::format("r: {}[B]", op.result ? op.result : dtype),
                       product_of({{"B", lengths}}),
                       op.tolerance,
                       {op.fill, op.fill}});
    }
  }
  for (const auto& form : broadcasts) {
    cases.push_back({"r = sub(x, y)",
                     fmt::format("x: f32{}, y: f32{}", form.a, form.b),
                     fmt::format("r: f32{}", form.result),
                     product_of({{"A", {0, 1, 2, 5}}, {"B", {0, 1, 9, 16, 67}}}),
                     {element, 1},
                     {}});
  }
  cases.push_back({"r = where(c, x, y)",
                   "c: bool[A, 1], x: f32[B], y: f32[A, B]",
                   "r: f32[A, B]",
                   product_of({{"A", {0, 1, 5}}, {"B", lengths}}),
                   {element, 0},
                   {normal_fill, special_fill}});
  cases.push_back({"r = where(c, x, y)", "c: bool[B], x: i64[B], y: i64[A, B]", "r: i64[A, B]",
                   product_of({{"A", {1, 5}}, {"B", lengths}})});
  cases.push_back({"r = where(isnan(x), y, where(less(x, y), x * y, x - y))",
                   "x: f32[A, B], y: f32[B]",
                   "r: f32[A, B]",
                   product_of({{"A", {0, 1, 4}}, {"B", lengths}}),
                   {element, 2},
                   {special_fill}});
  cases.push_back({"r = x + 1.5", "x: f32[]", "r: f32[]", {Sizes{}}});
  return cases;
}

}  // namespace dyn::testing
