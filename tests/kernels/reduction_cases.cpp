// Reductions over every set of axes, softmax and the norms.

#include <fmt/format.h>

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

struct Axes {
  const char *axes, *dims, *kept;
};
const Axes axes_of_rank_3[] = {
    {"[0]", "[B, C]", "[1, B, C]"}, {"[1]", "[A, C]", "[A, 1, C]"}, {"[-1]", "[A, B]", "[A, B, 1]"},
    {"[0, 1]", "[C]", "[1, 1, C]"}, {"[0, 2]", "[B]", "[1, B, 1]"}, {"[1, 2]", "[A]", "[A, 1, 1]"},
    {"[]", "[]", "[1, 1, 1]"},
};

const std::vector<Sizes> cubes = {
    {{"A", 2}, {"B", 3}, {"C", 5}},    {{"A", 0}, {"B", 3}, {"C", 5}},
    {{"A", 2}, {"B", 0}, {"C", 5}},    {{"A", 2}, {"B", 3}, {"C", 0}},
    {{"A", 1}, {"B", 1}, {"C", 1}},    {{"A", 7}, {"B", 17}, {"C", 33}},
    {{"A", 1}, {"B", 2}, {"C", 4097}}, {{"A", 301}, {"B", 4}, {"C", 7}},
    {{"A", 3}, {"B", 513}, {"C", 16}},
};

/// Any order of summation of n terms is within n/2 eps of sum |x|; n is at most the product of the
/// three sizes.
const Tolerance sum_tolerance{Scale::Absolute, 64, ""};

const std::vector<std::int64_t> line_lengths = {1, 2, 7, 8, 15, 16, 17, 31, 64, 65, 129, 768, 1025};

}  // namespace

std::vector<Case> reduction_cases() {
  std::vector<Case> cases;
  for (const auto& form : axes_of_rank_3) {
    for (const bool keep : {false, true}) {
      const auto add = [&](const char* op, const char* dtype, Tolerance tolerance, Fill how) {
        cases.push_back({fmt::format("r = {}(x) axes={} keepdims={}", op, form.axes, keep),
                         fmt::format("x: {}[A, B, C]", dtype),
                         fmt::format("r: {}{}", dtype, keep ? form.kept : form.dims),
                         cubes,
                         tolerance,
                         {how}});
      };
      add("reduce_sum", "f32", sum_tolerance, normal_fill);
      add("reduce_max", "f32", {Scale::Element, 0}, special_fill);
      if (keep) continue;
      add("reduce_mean", "f32", sum_tolerance, normal_fill);
      add("reduce_min", "f32", {Scale::Element, 0}, special_fill);
      add("reduce_sum", "i64", {}, normal_fill);
      add("reduce_max", "i32", {}, normal_fill);
      add("reduce_min", "i64", {}, normal_fill);
    }
  }
  cases.push_back({"r = reduce_prod(x) axes=[1] keepdims=false",
                   "x: f32[A, B]",
                   "r: f32[A]",
                   product_of({{"A", {0, 1, 5}}, {"B", {0, 1, 9, 64}}}),
                   {Scale::Element, 64},
                   {uniform(0.7, 1.4)}});
  cases.push_back({"r = reduce_prod(x) axes=[0] keepdims=false", "x: i64[A, B]", "r: i64[B]",
                   product_of({{"A", {0, 1, 5}}, {"B", {0, 1, 9, 64}}})});
  cases.push_back({"r = reduce_sum(x) axes=[0, 2, 4] keepdims=false", "x: f32[2, A, 3, B, 2]",
                   "r: f32[A, B]", product_of({{"A", {0, 1, 6}}, {"B", {0, 1, 19}}}),
                   sum_tolerance});

  // Reductions over one element each.
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_prod"}) {
    cases.push_back(
        {fmt::format("s = {}(x) axes=[-1] keepdims=true\n  d = sub(x, s)\n  r = mul(d, y)", op),
         "x: f32[A, B, 1], y: f32[A, B, 1]", "r: f32[A, B, 1]",
         product_of({{"A", {1, 3}}, {"B", {0, 1, 17}}})});
  }
  cases.push_back({"n = layer_norm(x, w, b) epsilon=0.1\n  r = transpose(n) perm=[1, 2, 0]",
                   "x: f32[A, B, 1], w: f32[1], b: f32[1]",
                   "r: f32[B, 1, A]",
                   product_of({{"A", {1, 3}}, {"B", {0, 1, 17}}}),
                   {Scale::Largest, 4}});

  cases.push_back({"r = softmax(x) axis=-1",
                   "x: f32[A, B]",
                   "r: f32[A, B]",
                   product_of({{"A", {0, 1, 3, 50}}, {"B", line_lengths}}),
                   {Scale::Element, 32},
                   {uniform(-20, 20)}});
  // e^x would overflow if the greatest element were not subtracted; the difference rounds by 64
  // eps.
  cases.push_back({"r = softmax(x) axis=-1",
                   "x: f32[A, B]",
                   "r: f32[A, B]",
                   product_of({{"A", {1, 5}}, {"B", line_lengths}}),
                   {Scale::Element, 96},
                   {uniform(-90, 90)}});
  cases.push_back(
      {"r = softmax(x) axis=1", "x: f32[A, B, C]", "r: f32[A, B, C]", cubes, {Scale::Element, 32}});
  cases.push_back({"r = softmax(x * 0.125 + m) axis=-1",
                   "x: f32[A, B, C], m: f32[A, 1, C]",
                   "r: f32[A, B, C]",
                   cubes,
                   {Scale::Largest, 16}});
  // A short line may have a variance near 0, which would amplify the rounding of its mean: epsilon
  // bounds that.
  cases.push_back({"r = layer_norm(x, w, b) epsilon=0.1",
                   "x: f32[A, B], w: f32[B], b: f32[B]",
                   "r: f32[A, B]",
                   product_of({{"A", {0, 1, 3, 50}}, {"B", line_lengths}}),
                   {Scale::Largest, 64}});
  cases.push_back({"r = layer_norm(x + y, w, b) epsilon=1e-12",
                   "x: f32[A, B, C], y: f32[C], w: f32[C], b: f32[C]",
                   "r: f32[A, B, C]",
                   {{{"A", 2}, {"B", 3}, {"C", 72}},
                    {{"A", 1}, {"B", 5}, {"C", 768}},
                    {{"A", 1}, {"B", 1}, {"C", 33}}},
                   {Scale::Largest, 64}});
  cases.push_back({"r = rms_norm(x, w)",
                   "x: f32[A, B], w: f32[B]",
                   "r: f32[A, B]",
                   product_of({{"A", {0, 1, 3, 50}}, {"B", line_lengths}}),
                   {Scale::Largest, 32}});
  return cases;
}

}  // namespace dyn::testing
