// Convolution and pooling: strides, dilations, padding on both sides, groups, and the operators
// that fuse around them.

#include "tests/kernels/cases.hpp"

namespace dyn::testing {
namespace {

using Scale = Tolerance::Scale;

/// Tolerance that grows with the number of products of one result.
Tolerance by_depth(double depth) { return {Scale::Absolute, 2 * depth}; }

/// For sums of bytes, which have signs of their own.
const Tolerance of_bytes{Scale::Values, 20};

/// Rows and columns around tiles, and images smaller than the window itself.
const std::vector<Sizes> images = {
    {{"N", 0}, {"H", 5}, {"W", 5}},  {{"N", 1}, {"H", 1}, {"W", 1}},
    {{"N", 1}, {"H", 1}, {"W", 17}}, {{"N", 2}, {"H", 7}, {"W", 5}},
    {{"N", 3}, {"H", 14}, {"W", 9}}, {{"N", 1}, {"H", 33}, {"W", 31}},
    {{"N", 5}, {"H", 2}, {"W", 3}},
};
const std::vector<Sizes> sequences = product_of({{"N", {0, 1, 3}}, {"L", {1, 2, 5, 16, 67}}});
/// Without padding a window needs room.
const std::vector<Sizes> large_images = {{{"N", 1}, {"H", 5}, {"W", 7}},
                                         {{"N", 3}, {"H", 12}, {"W", 9}},
                                         {{"N", 2}, {"H", 30}, {"W", 31}}};

}  // namespace

std::vector<Case> conv_pool_cases() {
  return {
      {"r = windows(x) axes=[1] sizes=[3] before=[1] after=[1]", "x: f32[N, L]", "r: f32[N, L, 3]",
       sequences, exact},
      {"r = windows(x) axes=[0, 1] sizes=[2, 3] strides=[2, 1] dilations=[1, 2] before=[1, 3] "
       "after=[2, 1] value=-2",
       "x: i64[N, L, 3]", "r: i64[floordiv(N + 1, 2) + 1, L, 2, 3, 3]", sequences, exact},
      {"r = reduce_max(windows(x) axes=[1] sizes=[4] before=[2] after=[1] value=0.5) axes=[2]",
       "x: f32[N, L]", "r: f32[N, L, 1]", sequences, exact},
      {"r = reduce_sum(windows(abs(x)) axes=[-1] sizes=[5] before=[2] after=[2]) axes=[-1] "
       "keepdims=false",
       "x: f32[N, 3, L]", "r: f32[N, 3, L]", sequences, by_depth(5)},
      {"r = slice(windows(x) axes=[1] sizes=[3] before=[1] after=[1]) axes=[1] steps=[-1]",
       "x: f32[N, L]", "r: f32[N, L, 3]", sequences, exact},
      {"r = conv(x, w)", "x: f32[N, H, W, 19], w: f32[1, 1, 19, 33]", "r: f32[N, H, W, 33]", images,
       by_depth(19)},
      {"r = conv(x, w) strides=[2, 3]", "x: f32[N, H, W, 6], w: f32[1, 1, 6, 40]",
       "r: f32[N, floordiv(H + 1, 2), floordiv(W + 2, 3), 40]", images, by_depth(6)},
      {"r = conv(x, w) before=[1, 1] after=[1, 1]", "x: f32[N, H, W, 16], w: f32[3, 3, 16, 32]",
       "r: f32[N, H, W, 32]", images, by_depth(144)},
      {"r = conv(x, w) strides=[2, 2] before=[3, 2] after=[3, 4]",
       "x: f32[N, H, W, 3], w: f32[7, 7, 3, 20]",
       "r: f32[N, floordiv(H + 1, 2), floordiv(W + 1, 2), 20]", images, by_depth(147)},
      {"r = conv(x, w)", "x: f32[N, H, W, 5], w: f32[2, 4, 5, 70]", "r: f32[N, H - 1, W - 3, 70]",
       large_images, by_depth(40)},
      {"r = conv(x, w) dilations=[3, 2] before=[3, 0] after=[3, 4]",
       "x: f32[N, H, W, 7], w: f32[3, 3, 7, 9]", "r: f32[N, H, W, 9]", images, by_depth(63)},
      {"r = conv(x, w) before=[2, 2] after=[0, 0]", "x: f32[N, H, W, 4], w: f32[3, 3, 4, 3]",
       "r: f32[N, H, W, 3]", images, by_depth(36)},
      {"r = conv(x, w) strides=[2] before=[4] after=[4]", "x: f32[N, L, 10], w: f32[9, 10, 48]",
       "r: f32[N, floordiv(L + 1, 2), 48]", sequences, by_depth(90)},
      {"r = conv(x, w) before=[1, 0, 1] after=[1, 2, 1]",
       "x: f32[N, 4, H, W, 3], w: f32[3, 3, 3, 3, 17]",
       "r: f32[N, 4, H, W, 17]",
       {{{"N", 1}, {"H", 3}, {"W", 5}}, {{"N", 2}, {"H", 6}, {"W", 2}}},
       by_depth(81)},
      // No batch, several dims of it, and one that depends on the padding.
      {"r = conv(x, w) before=[1, 1] after=[1, 1]",
       "x: f32[H, W, 8], w: f32[3, 3, 8, 31], y: bool[N]", "r: f32[H, W, 31]", images,
       by_depth(72)},
      {"r = conv(x, w) before=[1] after=[1]", "x: f32[2, N, L, 8], w: f32[3, 8, 16]",
       "r: f32[2, N, L, 16]", sequences, by_depth(24)},
      {"r = conv(x, w) before=[N] after=[L]", "x: f32[N, L, 8], w: f32[2, 8, 12]",
       "r: f32[N, N + 2 * L - 1, 12]", sequences, by_depth(16)},
      {"r = conv(x, w) before=[1, 1] after=[1, 1] groups=2",
       "x: f32[N, H, W, 12], w: f32[3, 3, 6, 40]", "r: f32[N, H, W, 40]", images, by_depth(54)},
      {"r = conv(x, w) strides=[2, 1] before=[1, 1] after=[1, 1] groups=12",
       "x: f32[N, H, W, 12], w: f32[3, 3, 1, 12]", "r: f32[N, floordiv(H + 1, 2), W, 12]", images,
       by_depth(9)},
      {"r = conv(x, w) before=[2, 2] after=[2, 2] groups=90",
       "x: f32[N, H, W, 90], w: f32[5, 5, 1, 90]", "r: f32[N, H, W, 90]", images, by_depth(25)},
      {"r = relu(conv(x, w) strides=[2, 2] dilations=[1, 2] before=[0, 2] after=[2, 3] groups=48 + "
       "b)",
       "x: f32[N, H, W, 48], w: f32[3, 3, 1, 48], b: f32[48]",
       "r: f32[N, floordiv(H + 1, 2), floordiv(W + 2, 2), 48]", images, by_depth(9)},
      // Neighbours share elements of windows, in blocks that end within a line or do not.
      {"r = conv(x, w) strides=[1, 3] dilations=[1, 2] before=[0, 4] after=[1, 5] groups=37",
       "x: f32[N, H, W, 37], w: f32[2, 4, 1, 37]", "r: f32[N, H, floordiv(W + 5, 3), 37]", images,
       by_depth(8)},
      {"r = relu(conv(x, w) strides=[1, 1] before=[0, 6] after=[0, 0] groups=40)",
       "x: f32[N, H, W, 40], w: f32[1, 7, 1, 40]", "r: f32[N, H, W, 40]", images, by_depth(7)},
      {"r = conv(x, w) strides=[2] before=[1] after=[3] groups=64",
       "x: f32[N, L, 64], w: f32[5, 1, 64]", "r: f32[N, floordiv(L + 1, 2), 64]", sequences,
       by_depth(5)},
      {"r = conv(x, w) groups=33", "x: f32[N, H, W, 33], w: f32[3, 3, 1, 33]",
       "r: f32[N, H - 2, W - 2, 33]", large_images, by_depth(9)},
      {"r = reduce_sum(windows(x) axes=[1] sizes=[3] before=[1] after=[1] + windows(y) axes=[1] "
       "sizes=[3] strides=[2] before=[1] after=[1]) axes=[2]",
       "x: f32[N, L, 36], y: f32[N, 2 * L, 36]",
       "r: f32[N, L, 1, 36]",
       sequences,
       {Scale::Values, 20}},
      {"r = reduce_sum(windows(x) axes=[1] sizes=[7] strides=[5] before=[3] after=[3] + windows(y) "
       "axes=[1] sizes=[7] before=[3] after=[3]) axes=[2]",
       "x: f32[N, 5 * L, 36], y: f32[N, L, 36]",
       "r: f32[N, L, 1, 36]",
       sequences,
       {Scale::Values, 20}},
      {"a = windows(x) axes=[1] sizes=[4] before=[2] after=[1]\n  r = reduce_max(a) axes=[2] - "
       "reduce_min(a * y) axes=[2]",
       "x: f32[N, L, 32], y: f32[N, L, 1, 32]",
       "r: f32[N, L, 1, 32]",
       sequences,
       {Scale::Values, 4}},
      // Windows of bytes that stand for numbers.
      {"r = conv(cast(x) dtype=f32 - 7.0, w) before=[1, 1] after=[1, 1] groups=24",
       "x: u8[N, H, W, 24], w: f32[3, 3, 1, 24]", "r: f32[N, H, W, 24]", images, of_bytes},
      {"r = conv(cast(x) dtype=f32 * 0.25, w) strides=[2, 2] before=[0, 1] after=[1, 1] groups=32",
       "x: i8[N, H, W, 32], w: f32[2, 3, 1, 32]",
       "r: f32[N, floordiv(H + 1, 2), floordiv(W + 1, 2), 32]", images, of_bytes},
      {"r = conv(cast(x) dtype=f32 + 0.5, w) before=[1, 1] after=[1, 1] groups=18",
       "x: i8[N, H, W, 18], w: f32[3, 3, 1, 18]", "r: f32[N, H, W, 18]", images, of_bytes},
      {"r = average_pool(cast(x) dtype=f32 - 3.0) sizes=[3, 2] before=[1, 0] after=[1, 1]",
       "x: u8[N, H, W, 50]", "r: f32[N, H, W, 50]", images, of_bytes},
      {"r = max_pool(cast(x) dtype=f32 * -0.5) sizes=[2, 3]", "x: u8[N, H, W, 21]",
       "r: f32[N, H - 1, W - 2, 21]", large_images, exact},
      {"r = max_pool(cast(x) dtype=f32) sizes=[3, 3] before=[1, 1] after=[1, 1]",
       "x: u8[N, H, W, 21]", "r: f32[N, H, W, 21]", images, exact},
      {"r = conv(x, w) before=[1, 1] after=[1, 1] groups=4",
       "x: f32[N, H, W, 4], w: f32[3, 3, 1, 12]", "r: f32[N, H, W, 12]", images, by_depth(9)},
      {"r = relu(conv(x, w) before=[1, 1] after=[1, 1] + c) + d",
       "x: f32[N, H, W, 16], w: f32[3, 3, 16, 24], c: f32[24], d: f32[N, H, W, 24]",
       "r: f32[N, H, W, 24]", images, by_depth(144)},
      // Channels after the batch, as files have them, on both sides.
      {"r = transpose(relu(conv(transpose(x) perm=[0, 2, 3, 1], w) strides=[2, 2] before=[1, 1] "
       "after=[1, 1])) perm=[0, 3, 1, 2] + d",
       "x: f32[N, 5, H, W], w: f32[3, 3, 5, 18], d: f32[18, 1, 1]",
       "r: f32[N, 18, floordiv(H + 1, 2), floordiv(W + 1, 2)]", images, by_depth(45)},
      {"r = max_pool(x) sizes=[3, 3] strides=[2, 2] before=[1, 1] after=[1, 1]",
       "x: f32[N, H, W, 19]", "r: f32[N, floordiv(H + 1, 2), floordiv(W + 1, 2), 19]", images,
       exact},
      {"r = max_pool(x) sizes=[2] dilations=[3] before=[1] after=[2]", "x: f32[N, L, 40]",
       "r: f32[N, L, 40]", sequences, exact},
      {"r = average_pool(x) sizes=[3, 2] before=[1, 0] after=[1, 1]", "x: f32[N, H, W, 17]",
       "r: f32[N, H, W, 17]", images, by_depth(6)},
      {"r = average_pool(x) sizes=[3, 2] before=[1, 0] after=[1, 1] include_padding=true",
       "x: f32[N, H, W, 17]", "r: f32[N, H, W, 17]", images, by_depth(6)},
      {"r = average_pool(x) sizes=[2, 2] strides=[2, 2]", "x: f32[N, H, W, 33]",
       "r: f32[N, floordiv(H, 2), floordiv(W, 2), 33]", large_images, by_depth(4)},
      // Windows that lie outside, in part or wholly; padding counts where it is not neutral.
      {"r = max_pool(x) sizes=[3] before=[4] after=[5]", "x: f32[N, L, 21]", "r: f32[N, L + 7, 21]",
       sequences, exact},
      {"r = max_pool(x) sizes=[3, 2] strides=[2, 3] before=[2, 1] after=[4, 3]",
       "x: f16[N, H, W, 70]", "r: f16[N, floordiv(H + 5, 2), floordiv(W + 5, 3), 70]", images,
       exact},
      {"r = average_pool(x) sizes=[5, 5] before=[2, 2] after=[2, 2]", "x: f32[N, H, W, 66]",
       "r: f32[N, H, W, 66]", images, by_depth(25)},
      {"r = reduce_min(windows(x) axes=[1] sizes=[4] before=[3] after=[3] value=0.25) axes=[2]",
       "x: f32[N, L, 18]", "r: f32[N, L + 3, 1, 18]", sequences, exact},
      {"r = reduce_sum(windows(x) axes=[1] sizes=[4] dilations=[2] before=[5] after=[3] value=3) "
       "axes=[2]",
       "x: i32[N, L, 18]", "r: i32[N, L + 2, 1, 18]", sequences, exact},
      {"r = reduce_min(windows(x) axes=[1, 2] sizes=[3, 2] before=[2, 1] after=[1, 1] value=0.25) "
       "axes=[3, 4] keepdims=false",
       "x: f32[N, H, W, 18]", "r: f32[N, H + 1, W + 1, 18]", images, exact},
      // Branches that write side by side.
      {"r = concat(relu(conv(x, w) before=[1, 1] after=[1, 1]), matmul(max_pool(x) sizes=[3, 3] "
       "before=[1, 1] after=[1, 1], v), average_pool(matmul(x, v)) sizes=[2, 2] before=[1, 0] "
       "after=[0, 1]) axis=3",
       "x: f32[N, H, W, 12], w: f32[3, 3, 12, 21], v: f32[12, 35]", "r: f32[N, H, W, 91]", images,
       by_depth(120)},
      {"a = concat(matmul(x, w), matmul(y, w)) axis=1\n  r = matmul(a, transpose(w) perm=[1, 0])",
       "x: f32[N, L, 12], y: f32[N, 5, 12], w: f32[12, 33]", "r: f32[N, L + 5, 12]", sequences,
       by_depth(400)},
      // A NaN touches the windows that it is in, and no others.
      {"r = conv(x, w) before=[1, 1] after=[1, 1]",
       "x: f32[N, H, W, 2], w: f32[3, 3, 2, 9]",
       "r: f32[N, H, W, 9]",
       {{{"N", 1}, {"H", 6}, {"W", 11}}},
       by_depth(18),
       {non_finite_fill}},
      {"r = conv(x, w) before=[1, 2] after=[1, 2] groups=50",
       "x: f32[N, H, W, 50], w: f32[3, 5, 1, 50]",
       "r: f32[N, H, W, 50]",
       {{{"N", 1}, {"H", 6}, {"W", 11}}},
       by_depth(15),
       {non_finite_fill}},
      {"r = reduce_sum(windows(x) axes=[1] sizes=[3] before=[1] after=[1] * w) axes=[2]",
       "x: f32[N, L, 20], w: f32[3, 20]",
       "r: f32[N, L, 1, 20]",
       {{{"N", 2}, {"L", 9}}},
       by_depth(3),
       {non_finite_fill, non_finite_fill}},
      {"r = reduce_sum(windows(x) axes=[1, 2] sizes=[3, 3] before=[1, 1] after=[1, 1] * w) "
       "axes=[3, 4] keepdims=false",
       "x: f32[N, H, W, 20], w: f32[3, 3, 20]",
       "r: f32[N, H, W, 20]",
       {{{"N", 1}, {"H", 6}, {"W", 11}}},
       by_depth(9),
       {non_finite_fill, non_finite_fill}},
      {"r = max_pool(x) sizes=[3, 3] before=[1, 1] after=[1, 1]",
       "x: f32[N, H, W, 5]",
       "r: f32[N, H, W, 5]",
       {{{"N", 1}, {"H", 6}, {"W", 11}}},
       exact,
       {non_finite_fill}},
  };
}

}  // namespace dyn::testing
