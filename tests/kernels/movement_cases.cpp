// Operators that only move elements: every result must be exact. A GPU keeps the tensor between two
// kernels in the precision, so that cases of two kernels move integers.

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

const std::vector<Sizes> pairs = product_of({{"A", {0, 1, 2, 7}}, {"B", {0, 1, 5, 16, 67}}});
/// Sizes for snippets that leave elements out, and so need some.
const std::vector<Sizes> larger_pairs = product_of({{"A", {3, 4, 7}}, {"B", {2, 5, 16, 67}}});

Case same(const char* statement, const char* parameters, const char* results,
          const std::vector<Sizes>& sizes = pairs, std::vector<Fill> fills = {}) {
  return {statement, parameters, results, sizes, exact, std::move(fills)};
}

}  // namespace

std::vector<Case> movement_cases() {
  return {
      same("r = transpose(x) perm=[1, 0]", "x: f32[A, B]", "r: f32[B, A]"),
      same("r = transpose(x) perm=[2, 0, 3, 1]", "x: f32[A, B, 3, 2]", "r: f32[3, A, 2, B]"),
      same("r = transpose(x) perm=[4, 3, 2, 1, 0]", "x: i64[A, 2, B, 1, 3]",
           "r: i64[3, 1, B, 2, A]"),
      same("r = reshape(x) shape=[A * B]", "x: f32[A, B]", "r: f32[A * B]"),
      same("r = reshape(transpose(x) perm=[1, 0]) shape=[A * B]", "x: f32[A, B]", "r: f32[A * B]"),
      same("r = reshape(x) shape=[B, 3, A]", "x: bool[A, 3, B]", "r: bool[B, 3, A]"),
      same("r = expand(x) shape=[A, 3, B]", "x: f32[A, 1, B]", "r: f32[A, 3, B]"),
      same("r = expand(x) shape=[A, B]", "x: f32[B], y: bool[A]", "r: f32[A, B]"),
      same("r = expand(x) shape=[B, A]", "x: f32[], y: bool[A, B]", "r: f32[B, A]"),
      same("r = slice(x) axes=[1] starts=[1]", "x: f32[A, B]", "r: f32[A, B - 1]", larger_pairs),
      same("r = slice(x) axes=[0, 1] starts=[1, 0] ends=[3, -1]", "x: i32[A, B]",
           "r: i32[2, B - 1]", larger_pairs),
      same("r = slice(x) axes=[1] steps=[2]", "x: f32[A, B]", "r: f32[A, floordiv(B + 1, 2)]"),
      same("r = slice(x) axes=[0] steps=[-1]", "x: f32[A, B]", "r: f32[A, B]"),
      same("r = slice(x) axes=[-1] steps=[-1]", "x: f32[A, B]", "r: f32[A, B]"),
      same("r, s = split(x) axis=1 sizes=[2, B - 2]", "x: f32[A, B]",
           "r: f32[A, 2], s: f32[A, B - 2]", larger_pairs),
      same("r, s, t = split(x) axis=0 sizes=[A, B, 1]", "x: f32[A + B + 1, 3], y: bool[A, B]",
           "r: f32[A, 3], s: f32[B, 3], t: f32[1, 3]"),
      same("r = concat(x, y) axis=0", "x: f32[A, 5], y: f32[B, 5]", "r: f32[A + B, 5]"),
      same("r = concat(x, y, x) axis=-1", "x: f32[3, A], y: f32[3, B]", "r: f32[3, 2 * A + B]"),
      same("r = concat(x, y) axis=1", "x: i64[2, A, B], y: i64[2, 1, B]", "r: i64[2, A + 1, B]"),
      same("r = pad(x) before=[1, 0] after=[0, 2] value=1.5", "x: f32[A, B]",
           "r: f32[A + 1, B + 2]"),
      same("r = pad(x) before=[0, A] after=[3, 0] value=-2", "x: i64[A, B]",
           "r: i64[A + 3, A + B]"),
      same("r = pad(transpose(x) perm=[0, 2, 1]) before=[0, 0, 0] after=[0, 0, 1]",
           "x: i32[A, 3, B]", "r: i32[A, B, 4]"),
      same("r = pad(transpose(x) perm=[0, 2, 1]) before=[0, 0, 1] after=[0, 0, 0]",
           "x: u8[A, 3, B]", "r: u8[A, B, 4]"),
      same("r = transpose(x) perm=[0, 2, 1]", "x: i16[A, 2, B]", "r: i16[A, B, 2]"),
      same("r = pad(transpose(x) perm=[0, 2, 1]) before=[0, 0, 5] after=[0, 0, 19]",
           "x: i32[A, 13, B]", "r: i32[A, B, 37]"),
      same("r = pad(transpose(x) perm=[0, 2, 1]) before=[0, 0, 2] after=[0, 0, 1]",
           "x: bf16[A, 31, B]", "r: bf16[A, B, 34]"),
      same("r = gather(x, i) axis=0", "x: f32[9, B], i: i64[A, 3]", "r: f32[A, 3, B]", pairs,
           {normal_fill, uniform(-9, 8)}),
      same("r = gather(x, i) axis=1", "x: f32[A, 6, B], i: i32[4]", "r: f32[A, 4, B]", pairs,
           {normal_fill, uniform(-6, 5)}),
      same("r = gather(x, i) axis=-1", "x: i64[A, 6], i: i64[B]", "r: i64[A, B]", pairs,
           {normal_fill, uniform(-6, 5)}),
      same("r = range() end=A dtype=f32", "x: f32[A, B]", "r: f32[A]"),
      same("r = range() start=A end=(A + 2 * B) step=2", "x: f32[A, B]", "r: i64[B]"),
      same("r = range() start=B end=0 step=-1 dtype=i32", "x: f32[A, B]", "r: i32[B]"),
      same("r = x", "x: f32[A, B]", "r: f32[A, B]"),
      same("r = abs(x)\n  s = r", "x: f32[A, B]", "r: f32[A, B], s: f32[A, B]"),
      same("r = neg(x)\n  s = transpose(r) perm=[1, 0]", "x: f32[A, B]",
           "r: f32[A, B], s: f32[B, A]"),
  };
}

}  // namespace dyn::testing
