// Operators over whole tensors that a GPU has kernels for: sums along an axis, and scatters, also
// where several updates meet one element.

#include <fmt/format.h>

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

/// A: lines before the axis, N: along it, B: elements behind it.
const std::vector<Sizes> summed_sizes =
    product_of({{"A", {3}}, {"N", {0, 1, 31, 1000}}, {"B", {1, 40}}});

void add_sums(std::vector<Case>& cases) {
  const auto add = [&](const std::string& dtype, const std::string& flags, Fill fill,
                       const Tolerance& tolerance) {
    cases.push_back({"r = cumsum(x) axis=1" + flags,
                     fmt::format("x: {}[A, N, B]", dtype),
                     fmt::format("r: {}[A, N, B]", dtype),
                     summed_sizes,
                     tolerance,
                     {std::move(fill)}});
  };
  for (const std::string flags :
       {"", " exclusive=true", " reverse=true", " exclusive=true reverse=true", " product=true",
        " product=true exclusive=true reverse=true"}) {
    const bool product = flags.find("product") != std::string::npos;
    add("i64", flags, uniform(-50, 50), exact);
    add("i32", flags, uniform(-50, 50), exact);
    add("f32", flags, product ? uniform(-1.1, 1.1) : normal_fill, {Scale::Largest, 1});
  }
  add("u8", "", uniform(0, 255), exact);
  add("i16", " product=true reverse=true", uniform(-300, 300), exact);
  add("f16", "", normal_fill, {Scale::Largest, 1});
  add("bf16", " reverse=true", normal_fill, {Scale::Largest, 1});
  const std::vector<Sizes> pairs = product_of({{"A", {1, 70}}, {"B", {3, 45, 700}}});
  cases.push_back({"r = cumsum(transpose(x) perm=[1, 0]) axis=-1",
                   "x: f32[B, A]",
                   "r: f32[A, B]",
                   pairs,
                   {Scale::Largest, 1}});
  cases.push_back({"r = cumsum(x) axis=0", "x: i64[A, B]", "r: i64[A, B]", pairs, exact});
  cases.push_back({"r = cumsum(x) axis=0",
                   "x: i32[A]",
                   "r: i32[A]",
                   {{{"A", 0}}, {{"A", 1}}, {{"A", 5000}}},
                   exact});
}

/// Rows of all ways, many equal elements, some that are no numbers; the reference takes the first
/// ones of a stable sort.
void add_choices(std::vector<Case>& cases) {
  const auto add = [&](const std::string& dtype, const std::string& flags, const Fill& fill,
                       const std::vector<Sizes>& sizes) {
    cases.push_back({"r, i = topk(x) k=K axis=1" + flags,
                     fmt::format("x: {}[A, N, B], t: u8[K]", dtype),
                     fmt::format("r: {}[A, K, B], i: i64[A, K, B]", dtype),
                     sizes,
                     exact,
                     {fill}});
  };
  const std::vector<Sizes> few = product_of(
                               {{"A", {1, 11}}, {"N", {128}}, {"B", {1}}, {"K", {0, 1, 8, 128}}}),
                           some = product_of(
                               {{"A", {2}}, {"N", {3, 200, 1000}}, {"B", {1, 3}}, {"K", {3}}}),
                           many = product_of(
                               {{"A", {2}}, {"N", {1800}}, {"B", {1}}, {"K", {1, 50, 700, 1800}}});
  const Fill values[] = {normal_fill, uniform(-3, 3), special_fill};
  int next = 0;
  for (const char* dtype : {"f32", "i64", "i32", "f16", "bf16", "u8", "i16", "f64", "u32"}) {
    for (const char* flags : {"", " largest=false"}) {
      for (const auto& sizes : {few, some, many}) add(dtype, flags, values[next++ % 3], sizes);
    }
  }
  cases.push_back({"r, i = topk(transpose(x) perm=[1, 0]) k=5 axis=-1", "x: f32[B, A]",
                   "r: f32[A, 5], i: i64[A, 5]", product_of({{"A", {1, 70}}, {"B", {5, 45, 3000}}}),
                   exact});
  // Every element is one of the first for a while.
  cases.push_back({"r, i = topk(cumsum(x) axis=0) k=700",
                   "x: i32[A]",
                   "r: i32[700], i: i64[700]",
                   {{{"A", 700}}, {{"A", 5000}}},
                   exact,
                   {uniform(0, 1)}});
}

/// All steps of a layer; lengths stay within them.
void add_layers(std::vector<Case>& cases) {
  const std::vector<Sizes> sizes = product_of({{"S", {3, 5}}, {"B", {1, 6, 300}}, {"H", {5, 40}}});
  const auto add = [&](const std::string& statement, int gates, const std::string& more) {
    cases.push_back(
        {statement,
         fmt::format("x: f32[S, B, 2 * {0} * H], w: f32[2, H, {0} * H], b: f32[2, {0} * "
                     "H], l: i32[B], h: f32[2, B, H]{1}",
                     gates, more),
         "r: f32[S, 2, B, H], e: f32[2, B, H]",
         sizes,
         {Scale::Unit, 400},
         {uniform(-1, 1.2), uniform(-0.2, 0.3), uniform(-1, 1), uniform(0, 3)}});
  };
  add("r, e, m = lstm(x, w, b, l, h, c, p) direction=bidirectional", 4,
      ", c: f32[2, B, H], p: f32[2, 3 * H]");
  for (const char* linear : {"false", "true"})
    add(fmt::format("r, e = gru(x, w, b, l, h) direction=bidirectional clip=2 "
                    "linear_before_reset={}",
                    linear),
        3, "");
  add("r, e = rnn(x, w, b, l, h) direction=bidirectional f=tanh", 1, "");
}

/// Decays and rates of one head, or of all.
void add_linear_attention(std::vector<Case>& cases) {
  const std::vector<Sizes> sizes = product_of({{"B", {1, 3}}, {"T", {0, 1, 9}}, {"V", {5, 130}}});
  const auto add = [&](const std::string& rule, const std::string& dtype, const std::string& more,
                       const std::string& parameters, double tolerance) {
    cases.push_back(
        {fmt::format("r, s = linear_attention(q, k, v, t{}) rule={} scale=0.5", more, rule),
         fmt::format("q: {0}[B, T, 4, 6], k: {0}[B, T, 2, 6], v: {0}[B, T, 2, V], "
                     "t: {0}[B, 2, 6, V]",
                     dtype) +
             parameters,
         fmt::format("r: {0}[B, T, 4, V], s: {0}[B, 2, 6, V]", dtype),
         sizes,
         {Scale::Largest, tolerance},
         {uniform(-0.5, 0.7), uniform(-0.4, 0.6), uniform(-1, 1.3), uniform(-1, 1),
          uniform(-1.5, 0), uniform(0, 1)}});
  };
  add("linear", "f32", "", "", 16);
  add("linear", "f16", "", "", 2);
  add("gated", "f32", ", d", ", d: f32[B, T, 2, 6]", 16);
  add("gated", "f32", ", d", ", d: f32[B, T, 1, 1]", 16);
  add("delta", "f32", ", d", ", d: f32[B, T, 1]", 16);
  add("gated_delta", "f32", ", d, b", ", d: f32[B, T, 2, 1], b: f32[B, T, 2]", 16);
}

/// Dims R and C of indices stay within the data's.
void add_elements(std::vector<Case>& cases) {
  const std::vector<Sizes> sizes =
      product_of({{"A", {7}}, {"B", {1, 67, 300}}, {"R", {0, 6}}, {"K", {3, 90}}});
  const Fill places = uniform(-5, 4), fractions = uniform(-1, 1);
  for (const std::string reduction : {"none", "add", "mul", "max", "min"}) {
    for (const std::string dtype : {"f32", "i64", "u8"}) {
      const Tolerance tolerance = dtype == "f32" ? Tolerance{Scale::Largest, 4} : exact;
      cases.push_back({"r = scatter_elements(x, i, u) axis=1 reduction=" + reduction,
                       fmt::format("x: {0}[A, 5, B], i: i64[R, K, B], u: {0}[R, K, B]", dtype),
                       fmt::format("r: {}[A, 5, B]", dtype),
                       sizes,
                       tolerance,
                       {fractions, places, fractions}});
      cases.push_back({"r = scatter_elements(x, i, u) axis=-1 reduction=" + reduction,
                       fmt::format("x: {0}[A, 5], i: i32[R, K], u: {0}[R, K]", dtype),
                       fmt::format("r: {}[A, 5]", dtype),
                       product_of({{"A", {7}}, {"R", {0, 7}}, {"K", {3, 900}}}),
                       tolerance,
                       {fractions, places, fractions}});
    }
  }
}

std::vector<Case> with_slices() {
  const std::vector<Sizes> sizes = product_of({{"A", {6}}, {"B", {1, 33, 300}}, {"R", {0, 70}}});
  const Fill places = uniform(-4, 3), fractions = uniform(-1, 1);
  std::vector<Case> cases;
  for (const std::string reduction : {"none", "add", "mul", "max", "min"}) {
    cases.push_back({"r = scatter_nd(x, i, u) reduction=" + reduction,
                     "x: f32[4, A, B], i: i64[R, 1], u: f32[R, A, B]",
                     "r: f32[4, A, B]",
                     sizes,
                     {Scale::Largest, 4},
                     {fractions, places, fractions}});
    cases.push_back({"r = scatter_nd(x, i, u) reduction=" + reduction,
                     "x: i32[4, 5, B], i: i32[2, R, 2], u: i32[2, R, B]",
                     "r: i32[4, 5, B]",
                     sizes,
                     exact,
                     {fractions, places, fractions}});
    cases.push_back({"r = scatter_nd(x, i, u) reduction=" + reduction,
                     "x: f32[4, A, 4], i: i64[R, 3], u: f32[R]",
                     "r: f32[4, A, 4]",
                     sizes,
                     {Scale::Largest, 4},
                     {fractions, places, fractions}});
  }
  return cases;
}

}  // namespace

std::vector<Case> function_cases() {
  std::vector<Case> cases;
  add_sums(cases);
  add_choices(cases);
  add_layers(cases);
  add_linear_attention(cases);
  add_elements(cases);
  for (Case& item : with_slices()) cases.push_back(std::move(item));
  const Fill places = uniform(-4, 3);
  const std::vector<Sizes> pairs = product_of({{"A", {5}}, {"B", {1, 300}}});
  for (const std::string dtype : {"bool", "u8", "f16", "i64"}) {
    cases.push_back({"r = scatter_nd(x, i, u)",
                     fmt::format("x: {0}[4, B], i: i64[A, 1], u: {0}[A, B]", dtype),
                     fmt::format("r: {}[4, B]", dtype),
                     pairs,
                     exact,
                     {normal_fill, places}});
  }
  // So many places that several blocks part them.
  cases.push_back({"r = scatter_nd(x, i, u) reduction=add",
                   "x: i64[7001], i: i64[A, 1], u: i64[A]",
                   "r: i64[7001]",
                   {{{"A", 3}}, {{"A", 1000}}},
                   exact,
                   {normal_fill, uniform(-300, 300)}});
  cases.push_back({"r = scatter_elements(x, i, u)",
                   "x: i32[701, 9], i: i64[A, 7], u: i32[A, 7]",
                   "r: i32[701, 9]",
                   {{{"A", 3}}, {{"A", 500}}},
                   exact,
                   {normal_fill, uniform(-300, 300)}});
  cases.push_back({"r = scatter_nd(transpose(x) perm=[1, 0], i, transpose(u) perm=[1, 0])",
                   "x: f32[B, 4], i: i64[A, 1], u: f32[B, A]",
                   "r: f32[4, B]",
                   pairs,
                   exact,
                   {normal_fill, places}});
  return cases;
}

}  // namespace dyn::testing
