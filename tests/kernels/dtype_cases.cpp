// Dtypes other than f32: arithmetic in their own width, casts between all of them, reductions,
// operators that move elements, matmul.

#include <fmt/format.h>

#include "graph/ops/scalar_ops.hpp"
#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

const std::vector<std::string> integers = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
const std::vector<std::string> numbers = {"f64", "f16", "bf16", "i8", "i16",
                                          "u8",  "u16", "u32",  "u64"};

/// Sizes around every vector width, none, one, and sizes that do not fill a vector.
const std::vector<Sizes> lines = product_of({{"A", {1, 3}}, {"B", {0, 1, 7, 8, 9, 17, 33, 97}}});
const std::vector<Sizes> squares = product_of({{"A", {0, 1, 5, 40}}, {"B", {0, 1, 9, 33, 130}}});

/// One result for each expression of x and y.
Case several(const std::vector<std::string>& expressions, const std::string& parameters,
             const std::string& result, const std::vector<Sizes>& sizes, Tolerance tolerance = {},
             std::vector<Fill> fills = {}) {
  std::string statements, results;
  for (std::size_t i = 0; i < expressions.size(); ++i) {
    statements += fmt::format("{}r{} = {}", i == 0 ? "" : "\n  ", i, expressions[i]);
    results += fmt::format("{}r{}: {}", i == 0 ? "" : ", ", i, result);
  }
  return {statements, parameters, results, sizes, tolerance, std::move(fills)};
}

std::string pair_of(const std::string& dtype) {
  return fmt::format("x: {0}[A, B], y: {0}[B]", dtype);
}

void add_arithmetic(std::vector<Case>& cases) {
  for (const std::string& dtype : numbers) {
    const std::string result = dtype + "[A, B]";
    cases.push_back(several({"x + y", "x - y", "x * y", "maximum(x, y)", "minimum(x, y)", "neg(x)",
                             "abs(x)", "sign(x)", "relu(x)"},
                            pair_of(dtype), result, lines, {Scale::Element, 1},
                            {special_fill, special_fill}));
    cases.push_back(several({"x / y", "mod(x, y)"}, pair_of(dtype), result, lines,
                            {Scale::Element, 2}, {eighths, eighths}));
    cases.push_back(several({"equal(x, y)", "not_equal(x, y)", "less(x, y)", "less_equal(x, y)",
                             "greater(x, y)", "greater_equal(x, y)"},
                            pair_of(dtype), "bool[A, B]", lines, {}, {special_fill, special_fill}));
    cases.push_back({"r = where(c, x, y)", fmt::format("c: bool[A, 1], {}", pair_of(dtype)),
                     "r: " + result, lines});
  }
  for (const std::string& dtype : integers) {
    const std::string result = dtype + "[A, B]";
    cases.push_back(
        several({"bit_and(x, y)", "bit_or(x, y)", "bit_xor(x, y)", "bit_not(x)", "pow(x, y)"},
                pair_of(dtype), result, lines));
    cases.push_back(
        several({"shift_left(x, y)", "shift_right(x, y)", "shift_left(x, 3)", "shift_right(x, 1)"},
                pair_of(dtype), result, lines, {}, {uniform(-100, 100), uniform(-3, 70)}));
  }
}

void add_functions(std::vector<Case>& cases) {
  std::vector<std::string> functions = {"pow(abs(x), 0.7)"};
  for (const graph::ScalarOpInfo& op : graph::scalar_ops()) {
    const bool gives_floats = !op.has(graph::Tests) && op.takes == graph::ScalarOperands::Floats;
    if (op.operands == 1 && gives_floats) functions.push_back(fmt::format("{}(x)", op.text));
  }
  cases.push_back(
      several(functions, "x: f64[A, B]", "f64[A, B]", lines, {Scale::Element, 8}, {special_fill}));
  cases.push_back(several(functions, "x: f64[A, B]", "f64[A, B]", lines, {Scale::Element, 8},
                          {uniform(-30, 30)}));
  cases.push_back(several({"isnan(x)", "equal(abs(x), inf)"}, "x: f64[A, B]", "bool[A, B]", lines,
                          {}, {special_fill}));
  for (const std::string dtype : {"f16", "bf16"}) {
    cases.push_back(several(functions, fmt::format("x: {}[A, B]", dtype), dtype + "[A, B]", lines,
                            {Scale::Element, 1}, {special_fill}));
    // The rounding after each operator, which fused kernels must not lose.
    cases.push_back(several({"gelu(x)", "silu(x)", "softmax(x) axis=-1", "x + 30 - 30 - x",
                             "rms_norm(x, w) epsilon=0.1"},
                            fmt::format("x: {0}[A, B], w: {0}[B]", dtype), dtype + "[A, B]",
                            product_of({{"A", {1, 3}}, {"B", {1, 9, 33, 97}}}), {Scale::Element, 1},
                            {uniform(-3, 3), normal_fill}));
  }
  cases.push_back(several({"gelu(x)", "gelu(x) approximate=tanh", "silu(x)", "softmax(x) axis=-1"},
                          "x: f64[A, B]", "f64[A, B]", lines, {Scale::Largest, 64}));
  cases.push_back({"r = layer_norm(x, w, b) epsilon=0.1",
                   "x: f64[A, B], w: f64[B], b: f64[B]",
                   "r: f64[A, B]",
                   product_of({{"A", {1, 3}}, {"B", {1, 9, 33, 97}}}),
                   {Scale::Largest, 64}});
}

void add_casts(std::vector<Case>& cases) {
  const std::vector<std::string> all = {"f32", "f64", "f16", "bf16", "i8",  "i16", "i32",
                                        "i64", "u8",  "u16", "u32",  "u64", "bool"};
  for (const std::string& from : all) {
    std::vector<std::string> expressions;
    for (const std::string& to : all)
      expressions.push_back(fmt::format("cast(cast(x) dtype={}) dtype=f64", to));
    // Casts round once, as to f32, or not at all. The tolerance allows that, but no half too much
    // in an integer.
    cases.push_back(several(expressions, fmt::format("x: {}[A, B]", from), "f64[A, B]", lines,
                            {Scale::Element, 0x1p29}, {uniform(-300, 300)}));
    cases.push_back(several(expressions, fmt::format("x: {}[A, B]", from), "f64[A, B]", lines,
                            {Scale::Element, 0x1p29}, {special_fill}));
  }
}

void add_reductions(std::vector<Case>& cases) {
  for (const std::string& dtype : numbers) {
    const std::string result = dtype + "[A]",
                      parameters = fmt::format("x: {}[A, B], y: f32[A, B]", dtype);
    // 16-bit floats are rounded once, their sums are f32.
    const bool once = dtype.ends_with("f16");
    cases.push_back(
        several({"reduce_sum(x) axes=[1] keepdims=false", "reduce_max(x) axes=[1] keepdims=false",
                 "reduce_min(x) axes=[1] keepdims=false", "reduce_prod(x) axes=[1] keepdims=false"},
                parameters, result, squares, {Scale::Absolute, once ? 1.0 : 256}));
    cases.push_back(
        several({"reduce_sum(x) axes=[0] keepdims=false", "reduce_max(x) axes=[0] keepdims=false",
                 "reduce_min(x) axes=[0] keepdims=false"},
                parameters, dtype + "[B]", squares, {Scale::Absolute, once ? 1.0 : 256}));
    // Partial results of several widths in one kernel; many rows of few results are cut in slices.
    cases.push_back({fmt::format("r = reduce_sum(x * cast(y) dtype={}) axes=[0] keepdims=false\n  "
                                 "s = reduce_max(y) axes=[0] keepdims=false",
                                 dtype),
                     parameters,
                     fmt::format("r: {}[B], s: f32[B]", dtype),
                     product_of({{"A", {1, 40, 3000}}, {"B", {1, 9, 100}}}),
                     {Scale::Absolute, once ? 1.0 : 4096},
                     {uniform(-9, 9), uniform(-9, 9)}});
    cases.push_back(
        {fmt::format("m = reduce_max(y) axes=[1]\n  r = cast((m - y) * 2.0) dtype={} + x", dtype),
         parameters,
         fmt::format("r: {}[A, B]", dtype),
         squares,
         {Scale::Element, 1},
         {normal_fill, eighths}});
  }
  cases.push_back({"r = reduce_mean(x) axes=[1] keepdims=false",
                   "x: f64[A, B]",
                   "r: f64[A]",
                   squares,
                   {Scale::Absolute, 256}});
  cases.push_back(
      several({"reduce_max(x) axes=[1] keepdims=false", "reduce_min(x) axes=[1] keepdims=false"},
              "x: bool[A, B]", "bool[A]", squares));
}

void add_movement(std::vector<Case>& cases) {
  for (const std::string& dtype : numbers) {
    const std::string x = fmt::format("x: {}[A, B]", dtype);
    cases.push_back(
        {"r = transpose(x) perm=[1, 0]\n  s = pad(x) before=[1, 0] after=[0, 2] value=7\n  t = "
         "concat(x, x) axis=1",
         x,
         fmt::format("r: {0}[B, A], s: {0}[A + 1, B + 2], t: {0}[A, 2 * B]", dtype),
         squares,
         {Scale::Element, 0}});
    cases.push_back({"r = gather(x, i) axis=0",
                     fmt::format("x: {}[9, B], i: i64[A, 3]", dtype),
                     fmt::format("r: {}[A, 3, B]", dtype),
                     squares,
                     {Scale::Element, 0},
                     {normal_fill, uniform(-9, 8)}});
    cases.push_back(
        {"r = reduce_max(windows(x) axes=[1] sizes=[3] before=[1] after=[1] value=-inf) axes=[2] "
         "keepdims=false",
         fmt::format("x: {}[A, B, 2]", dtype),
         fmt::format("r: {}[A, B, 2]", dtype),
         product_of({{"A", {1, 3}}, {"B", {1, 9, 33}}}),
         {Scale::Element, 0}});
    cases.push_back({"r = max_pool(x) sizes=[3] strides=[2] before=[1] after=[1]",
                     fmt::format("x: {}[A, B, 3]", dtype),
                     fmt::format("r: {}[A, floordiv(B + 1, 2), 3]", dtype),
                     product_of({{"A", {1, 3}}, {"B", {1, 9, 33}}}),
                     {Scale::Element, 0}});
    cases.push_back({fmt::format("r = range() start=A end=(A + 2 * B) step=2 dtype={}", dtype),
                     "x: f32[A, B]",
                     fmt::format("r: {}[B]", dtype),
                     squares,
                     {Scale::Element, 0}});
  }
}

/// Sums of rounded numbers, ties among them, that become narrow integers; extrema with numbers.
void add_rounding(std::vector<Case>& cases) {
  const std::vector<Sizes> sizes = product_of({{"A", {1, 3}}, {"B", {1, 16, 37}}});
  for (const std::string dtype : {"u8", "i8", "u16", "i16"}) {
    const double reach = dtype.ends_with("16") ? 140000 : 600;
    for (const char* added : {"", " + 128.0", " + -3.0"}) {
      const auto rounded = [&](const char* x) {
        return fmt::format("r = cast(round({}){}) dtype={}", x, added, dtype);
      };
      const std::string results = fmt::format("r: {}[A, B]", dtype);
      cases.push_back({rounded("cast(x) dtype=f32 * 0.5"),
                       "x: i32[A, B]",
                       results,
                       sizes,
                       exact,
                       {uniform(-reach, reach)}});
      cases.push_back({rounded("x"), "x: f32[A, B]", results, sizes, exact, {non_finite_fill}});
    }
  }
  for (const char* statement :
       {"r = minimum(maximum(x, 0.0), 6.0)", "r = minimum(6.0, maximum(0.0, x))",
        "r = maximum(minimum(x, -0.25), -3.0)"})
    cases.push_back({statement, "x: f32[A, B]", "r: f32[A, B]", sizes, exact, {non_finite_fill}});
}

void add_products(std::vector<Case>& cases) {
  const std::vector<Sizes> sizes = {{{"M", 1}, {"N", 1}, {"K", 0}},
                                    {{"M", 5}, {"N", 18}, {"K", 33}},
                                    {{"M", 1}, {"N", 40}, {"K", 7}},
                                    {{"M", 33}, {"N", 3}, {"K", 100}}};
  for (const std::string dtype : {"f64", "f16", "bf16", "i8", "i32", "i64", "u8", "u32", "u64"}) {
    const Tolerance tolerance =
        dtype.ends_with("f16") ? Tolerance{Scale::Absolute, 1} : Tolerance{Scale::Absolute, 2, "K"};
    const auto product = [&](const char* attributes, const char* a, const char* b, const char* r) {
      cases.push_back({fmt::format("r = matmul(a, b){}", attributes),
                       fmt::format("a: {0}{1}, b: {0}{2}", dtype, a, b),
                       fmt::format("r: {}{}", dtype, r), sizes, tolerance});
    };
    product("", "[M, K]", "[K, N]", "[M, N]");
    product(" transpose_b=true", "[2, M, K]", "[N, K]", "[2, M, N]");
    product(" transpose_a=true", "[K, M]", "[3, K, N]", "[3, M, N]");
    product(" transpose_a=true transpose_b=true", "[2, 1, K, M]", "[3, N, K]", "[2, 3, M, N]");
  }
}

/// Convolution, pooling, attention and normalisation: in f32, rounded once.
void add_compounds(std::vector<Case>& cases) {
  for (const std::string dtype : {"f16", "bf16"}) {
    const auto given = [&](std::string parameters) {
      for (std::size_t at; (at = parameters.find('T')) != std::string::npos;)
        parameters.replace(at, 1, dtype);
      return parameters;
    };
    const std::vector<Sizes> images = product_of({{"N", {1, 3}}, {"H", {5, 18}}});
    cases.push_back({"r = conv(x, w) strides=[2, 1] before=[1, 0] after=[1, 2] groups=2",
                     given("x: T[N, H, 7, 6], w: T[3, 3, 3, 10]"),
                     given("r: T[N, floordiv(H + 1, 2), 7, 10]"),
                     images,
                     {Scale::Absolute, 1}});
    cases.push_back({"r = average_pool(x) sizes=[3] strides=[2] before=[1] after=[1]",
                     given("x: T[N, H, 5]"),
                     given("r: T[N, floordiv(H - 1, 2) + 1, 5]"),
                     images,
                     {Scale::Absolute, 1}});
    cases.push_back(
        {"r = attention(q, k, v, mask)",
         given("q: T[2, N, H, 16], k: T[2, N, 40, 16], v: T[2, N, 40, 8], mask: T[H, 40]"),
         given("r: T[2, N, H, 8]"),
         images,
         {Scale::Absolute, 2}});
    cases.push_back({"r = layer_norm(x, w, b) epsilon=0.1",
                     given("x: T[N, H], w: T[H], b: T[H]"),
                     given("r: T[N, H]"),
                     images,
                     {Scale::Largest, 1}});
    cases.push_back({"r = cumsum(x) axis=1\n  s, i = topk(x) k=3 axis=1",
                     given("x: T[N, H]"),
                     given("r: T[N, H], s: T[N, 3], i: i64[N, 3]"),
                     images,
                     {Scale::Largest, 1}});
  }
}

}  // namespace

namespace {

/// A layer of a quantised model: every product and sum is exact in f32.
Case quantised_layer() {
  return {"r = cast(round(matmul(cast(x) dtype=f32, cast(y) dtype=f32) / 16) + 128) dtype=u8",
          "x: u8[A, B], y: i8[B, 12]",
          "r: u8[A, 12]",
          lines,
          exact,
          {uniform(0, 255), uniform(-128, 127)}};
}

}  // namespace

std::vector<Case> dtype_cases() {
  std::vector<Case> cases{quantised_layer()};
  add_arithmetic(cases);
  add_functions(cases);
  add_casts(cases);
  add_reductions(cases);
  add_movement(cases);
  add_rounding(cases);
  add_products(cases);
  add_compounds(cases);
  return cases;
}

}  // namespace dyn::testing
