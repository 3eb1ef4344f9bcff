#pragma once
// A function for each operator of the text (docs/ir.md has their shapes, dtypes and attributes),
// for values of a dyn::Builder. Numbers may stand among their arguments. Errors are those of
// Builder::op.

#include "dyn/builder.hpp"

namespace dyn {

// clang-format off
/// |x|; the least integer stays itself.
inline Value abs(const Value& a) {
  return op("abs", {a});
}
/// Arc cosine, within 0 .. pi; NaN for |x| > 1.
inline Value acos(const Value& a) {
  return op("acos", {a});
}
/// Inverse of the hyperbolic cosine, at least 0; NaN for x < 1.
inline Value acosh(const Value& a) {
  return op("acosh", {a});
}
/// a + b; integers wrap around.
inline Value add(const Value& a, const Value& b) {
  return op("add", {a, b});
}
/// The state with x written in place, at positions at, at + 1, ...; arguments: a state, x.
/// Attributes: at (required), axis.
inline Value append(const Value& a, const Value& b, const Attributes& attributes) {
  return op("append", {a, b}, attributes);
}
/// Arc sine, within -pi / 2 .. pi / 2; NaN for |x| > 1.
inline Value asin(const Value& a) {
  return op("asin", {a});
}
/// Inverse of the hyperbolic sine.
inline Value asinh(const Value& a) {
  return op("asinh", {a});
}
/// Arc tangent, within -pi / 2 .. pi / 2.
inline Value atan(const Value& a) {
  return op("atan", {a});
}
/// Inverse of the hyperbolic tangent; NaN for |x| > 1.
inline Value atanh(const Value& a) {
  return op("atanh", {a});
}
/// softmax(q * k^T * scale + mask) * v; arguments: q, k, v, the scales of k and of v with
/// scales=true, and optionally an additive mask. Attributes: scale, causal, scales.
inline Value attention(const Values& inputs, const Attributes& attributes = {}) {
  return op("attention", inputs, attributes);
}
/// Mean of each window, channels last. Attributes: sizes (required), strides, dilations, before,
/// after, include_padding.
inline Value average_pool(const Value& a, const Attributes& attributes) {
  return op("average_pool", {a}, attributes);
}
/// The bits that both have.
inline Value bit_and(const Value& a, const Value& b) {
  return op("bit_and", {a, b});
}
/// The bits of x as another dtype of as many. A bool is a byte of 0 or 1; other bytes are true.
/// Attributes: dtype (required).
inline Value bit_cast(const Value& a, const Attributes& attributes) {
  return op("bit_cast", {a}, attributes);
}
/// Every bit of x turned over.
inline Value bit_not(const Value& a) {
  return op("bit_not", {a});
}
/// The bits that either has.
inline Value bit_or(const Value& a, const Value& b) {
  return op("bit_or", {a, b});
}
/// The bits that one of them has.
inline Value bit_xor(const Value& a, const Value& b) {
  return op("bit_xor", {a, b});
}
/// x in another dtype. Floats to integers truncate toward zero (beyond the integers there are: the
/// nearest; NaN: 0), integers keep the low bits, anything to bool tells x != 0. To a narrow float
/// by way of f32: to nearest, ties to even; too large ones become infinite, NaN where there is no
/// infinity, and the greatest number where there is neither. To i4, u4, i2 and u2 as to i32, of
/// which the low bits stay. Attributes: dtype (required).
inline Value cast(const Value& a, const Attributes& attributes) {
  return op("cast", {a}, attributes);
}
/// The least integer that is not below x.
inline Value ceil(const Value& a) {
  return op("ceil", {a});
}
/// The slices of x along an axis for which a condition holds; arguments: x, condition. Attributes:
/// axis, count (required).
inline Value compress(const Value& a, const Value& b, const Attributes& attributes) {
  return op("compress", {a, b}, attributes);
}
/// Tensors one after the other along one axis. Attributes: axis (required).
inline Value concat(const Values& inputs, const Attributes& attributes) {
  return op("concat", inputs, attributes);
}
/// Convolution (cross-correlation), channels last. Where a filter that is not finite meets padding,
/// their product may count as 0 or as NaN. Attributes: strides, dilations, before, after, groups,
/// value.
inline Value conv(const Value& a, const Value& b, const Attributes& attributes = {}) {
  return op("conv", {a, b}, attributes);
}
/// Cosine of x in radians.
inline Value cos(const Value& a) {
  return op("cos", {a});
}
/// Hyperbolic cosine.
inline Value cosh(const Value& a) {
  return op("cosh", {a});
}
/// How often each n-gram occurs in each row, its items 1, 2, ... skips + 1 places apart, a single
/// item once; arguments: x, items (of all n-grams, those of each length in ascending order),
/// columns (the place in the result of each n-gram). Attributes: shortest, counts (required),
/// skips, columns (required).
inline Value count_ngrams(const Value& a, const Value& b, const Value& c,
    const Attributes& attributes) {
  return op("count_ngrams", {a, b, c}, attributes);
}
/// Probabilities of classes from those of pairs of them: of pair (i, j), i < j, that it is i and
/// not j. By the second method of Wu, Lin and Weng (2004), as LIBSVM stops it: after 100 rounds, or
/// where all but 0.005 / C of each condition is met. Attributes: classes (required).
inline Value couple(const Value& a, const Attributes& attributes) {
  return op("couple", {a}, attributes);
}
/// Sums, or products, of all elements up to each one along an axis. Attributes: axis (required),
/// exclusive, reverse, product.
inline Value cumsum(const Value& a, const Attributes& attributes) {
  return op("cumsum", {a}, attributes);
}
/// The determinants of square matrices, by elimination in f64.
inline Value det(const Value& a) {
  return op("det", {a});
}
/// a / b; of integers the quotient truncated toward zero, and 0 where b is 0.
inline Value div(const Value& a, const Value& b) {
  return op("div", {a, b});
}
/// True where a == b; false where either is NaN.
inline Value equal(const Value& a, const Value& b) {
  return op("equal", {a, b});
}
/// Error function.
inline Value erf(const Value& a) {
  return op("erf", {a});
}
/// e to the power x.
inline Value exp(const Value& a) {
  return op("exp", {a});
}
/// Repeats dims of 1, and adds dims on the left. Attributes: shape (required).
inline Value expand(const Value& a, const Attributes& attributes) {
  return op("expand", {a}, attributes);
}
/// The greatest integer that is not above x.
inline Value floor(const Value& a) {
  return op("floor", {a});
}
/// Slices of data along one axis, chosen by indices; arguments: data, indices. Attributes: axis.
inline Value gather(const Value& a, const Value& b, const Attributes& attributes = {}) {
  return op("gather", {a, b}, attributes);
}
/// 0.5 * x * (1 + erf(x / sqrt(2))), or 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
/// Attributes: approximate.
inline Value gelu(const Value& a, const Attributes& attributes = {}) {
  return op("gelu", {a}, attributes);
}
/// True where a > b; false where either is NaN.
inline Value greater(const Value& a, const Value& b) {
  return op("greater", {a, b});
}
/// True where a >= b; false where either is NaN.
inline Value greater_equal(const Value& a, const Value& b) {
  return op("greater_equal", {a, b});
}
/// A gated recurrent unit; arguments: gates (the inputs' share of update, reset and hidden), r,
/// bias, lengths, h and, with r in i8, scales. Attributes: direction, clip, f, f_alpha, f_beta, g,
/// g_alpha, g_beta, linear_before_reset.
inline Values gru(const Values& inputs, const Attributes& attributes = {}) {
  return ops("gru", inputs, attributes);
}
/// One of two values. What only the other needs is not computed; arguments: condition, value if it
/// holds, value if it does not. Attributes: dims.
inline Value if_(const Value& a, const Value& b, const Value& c,
    const Attributes& attributes = {}) {
  return op("if", {a, b, c}, attributes);
}
/// True where x is not a number.
inline Value isnan(const Value& a) {
  return op("isnan", {a});
}
/// (x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and (biased) variance over the
/// last axis; arguments: x, weight, bias. Attributes: epsilon.
inline Value layer_norm(const Value& a, const Value& b, const Value& c,
    const Attributes& attributes = {}) {
  return op("layer_norm", {a, b, c}, attributes);
}
/// True where a < b; false where either is NaN.
inline Value less(const Value& a, const Value& b) {
  return op("less", {a, b});
}
/// True where a <= b; false where either is NaN.
inline Value less_equal(const Value& a, const Value& b) {
  return op("less_equal", {a, b});
}
/// Attention by a matrix S for each head: at each step S becomes exp(decay) * S (gated), beta * (v
/// - S^T k) takes the place of v (delta), k v^T is added to S, and scale * S^T q is the result;
/// arguments: q, k, v, state (S before the first step), decay (gated), beta (delta). Attributes:
/// rule, scale.
inline Values linear_attention(const Values& inputs, const Attributes& attributes = {}) {
  return ops("linear_attention", inputs, attributes);
}
/// Natural logarithm; NaN for x < 0, -inf for 0.
inline Value log(const Value& a) {
  return op("log", {a});
}
/// True where both are.
inline Value logical_and(const Value& a, const Value& b) {
  return op("logical_and", {a, b});
}
/// True where x is false.
inline Value logical_not(const Value& a) {
  return op("logical_not", {a});
}
/// True where either is.
inline Value logical_or(const Value& a, const Value& b) {
  return op("logical_or", {a, b});
}
/// Runs a body for a number of steps, or while a condition holds. Arguments: the most steps, the
/// condition, the first carried values, the scanned tensors, and values that all steps share.
/// Results: the last carried values, then what each step makes beside them, stacked. The body's
/// inputs are the number of the step, the condition, the carried values, a slice of each scanned
/// tensor, and the shared values; its outputs the next condition if `conditional`, the carried
/// values, and what is stacked. Attributes: body (required), carried, scanned, conditional, steps
/// (required), dims.
inline Values loop(const Values& inputs, std::size_t results, const Attributes& attributes) {
  return ops("loop", inputs, attributes, results);
}
/// A long short-term memory; arguments: gates (the inputs' share of input, output, forget and
/// cell), r, bias, lengths, h, c, peepholes and, with r in i8, scales. Attributes: direction, clip,
/// f, f_alpha, f_beta, g, g_alpha, g_beta, h, h_alpha, h_beta, input_forget.
inline Values lstm(const Values& inputs, const Attributes& attributes = {}) {
  return ops("lstm", inputs, attributes);
}
/// Matrix product over the last two axes, for each index of the others. Attributes: transpose_a,
/// transpose_b, zero.
inline Value matmul(const Value& a, const Value& b, const Attributes& attributes = {}) {
  return op("matmul", {a, b}, attributes);
}
/// Greatest element of each window, channels last; padding never is it. Attributes: sizes
/// (required), strides, dilations, before, after.
inline Value max_pool(const Value& a, const Attributes& attributes) {
  return op("max_pool", {a}, attributes);
}
/// The greater of a and b; NaN where either is NaN.
inline Value maximum(const Value& a, const Value& b) {
  return op("maximum", {a, b});
}
/// The lesser of a and b; NaN where either is NaN.
inline Value minimum(const Value& a, const Value& b) {
  return op("minimum", {a, b});
}
/// Remainder of a / b with the sign of b, a zero too, as in Python; of integers 0 where b is 0.
inline Value mod(const Value& a, const Value& b) {
  return op("mod", {a, b});
}
/// a * b; integers wrap around.
inline Value mul(const Value& a, const Value& b) {
  return op("mul", {a, b});
}
/// -x; the least integer stays itself.
inline Value neg(const Value& a) {
  return op("neg", {a});
}
/// Boxes that no better one of the same class overlaps by more than a share; arguments: boxes,
/// scores, most boxes of a class, overlap, least score. Attributes: center, count (required).
inline Value nms(const Values& inputs, const Attributes& attributes) {
  return op("nms", inputs, attributes);
}
/// The places of all elements that are not 0, in row-major order. Attributes: count (required).
inline Value nonzero(const Value& a, const Attributes& attributes) {
  return op("nonzero", {a}, attributes);
}
/// True where a != b, or either is NaN.
inline Value not_equal(const Value& a, const Value& b) {
  return op("not_equal", {a, b});
}
/// x surrounded by a constant. Attributes: before (required), after (required), value.
inline Value pad(const Value& a, const Attributes& attributes) {
  return op("pad", {a}, attributes);
}
/// a to the power b; integers wrap around, and are 1 / a^-b truncated toward zero where b < 0 (0
/// where a is 0).
inline Value pow(const Value& a, const Value& b) {
  return op("pow", {a, b});
}
/// start, start + step, ... up to, and without, end. Attributes: start, end (required), step,
/// dtype.
inline Value range(const Values& inputs, const Attributes& attributes) {
  return op("range", inputs, attributes);
}
/// 1 / x.
inline Value reciprocal(const Value& a) {
  return op("reciprocal", {a});
}
/// Greatest element over the axes, NaN where one is; over no elements -inf, or the least integer.
/// Attributes: axes, keepdims.
inline Value reduce_max(const Value& a, const Attributes& attributes = {}) {
  return op("reduce_max", {a}, attributes);
}
/// Mean over the axes; NaN over no elements. Attributes: axes, keepdims.
inline Value reduce_mean(const Value& a, const Attributes& attributes = {}) {
  return op("reduce_mean", {a}, attributes);
}
/// Least element over the axes, NaN where one is; over no elements inf, or the greatest integer.
/// Attributes: axes, keepdims.
inline Value reduce_min(const Value& a, const Attributes& attributes = {}) {
  return op("reduce_min", {a}, attributes);
}
/// Product over the axes, integers wrap around; 1 over no elements. Attributes: axes, keepdims.
inline Value reduce_prod(const Value& a, const Attributes& attributes = {}) {
  return op("reduce_prod", {a}, attributes);
}
/// Sum over the axes, integers wrap around; 0 over no elements. Attributes: axes, keepdims.
inline Value reduce_sum(const Value& a, const Attributes& attributes = {}) {
  return op("reduce_sum", {a}, attributes);
}
/// max(x, 0); NaN stays NaN.
inline Value relu(const Value& a) {
  return op("relu", {a});
}
/// The same elements, in row-major order, under another shape. Attributes: shape (required),
/// not_one.
inline Value reshape(const Value& a, const Attributes& attributes) {
  return op("reshape", {a}, attributes);
}
/// x / sqrt(mean(x * x) + epsilon) * weight, with the mean over the last axis; arguments: x,
/// weight. Attributes: epsilon.
inline Value rms_norm(const Value& a, const Value& b, const Attributes& attributes = {}) {
  return op("rms_norm", {a, b}, attributes);
}
/// A recurrent layer; arguments: gates (the inputs' share), r, bias, lengths, h and, with r in i8,
/// scales. Attributes: direction, clip, f, f_alpha, f_beta.
inline Values rnn(const Values& inputs, const Attributes& attributes = {}) {
  return ops("rnn", inputs, attributes);
}
/// The nearest integer, halves to the even one.
inline Value round(const Value& a) {
  return op("round", {a});
}
/// 1 / sqrt(x).
inline Value rsqrt(const Value& a) {
  return op("rsqrt", {a});
}
/// data with updates at the places that indices give along one axis; arguments: data, indices,
/// updates. Attributes: axis, reduction.
inline Value scatter_elements(const Value& a, const Value& b, const Value& c,
    const Attributes& attributes = {}) {
  return op("scatter_elements", {a, b, c}, attributes);
}
/// data with slices put at the places that rows of indices give; arguments: data, indices, updates.
/// Attributes: reduction.
inline Value scatter_nd(const Value& a, const Value& b, const Value& c,
    const Attributes& attributes = {}) {
  return op("scatter_nd", {a, b, c}, attributes);
}
/// a * 2^b without what leaves the dtype's bits; 0 where b is negative, or no less than they are.
inline Value shift_left(const Value& a, const Value& b) {
  return op("shift_left", {a, b});
}
/// a / 2^b rounded down; where b is negative, or no less than the dtype has bits, 0, and -1 of a
/// negative number.
inline Value shift_right(const Value& a, const Value& b) {
  return op("shift_right", {a, b});
}
/// 1 / (1 + exp(-x)).
inline Value sigmoid(const Value& a) {
  return op("sigmoid", {a});
}
/// -1, 0 or 1 by the sign of x; NaN stays NaN.
inline Value sign(const Value& a) {
  return op("sign", {a});
}
/// x * sigmoid(x).
inline Value silu(const Value& a) {
  return op("silu", {a});
}
/// Sine of x in radians.
inline Value sin(const Value& a) {
  return op("sin", {a});
}
/// Hyperbolic sine.
inline Value sinh(const Value& a) {
  return op("sinh", {a});
}
/// x itself, whose elements become dims. Attributes: dims (required).
inline Value sizes(const Value& a, const Attributes& attributes) {
  return op("sizes", {a}, attributes);
}
/// The elements at start, start + step, ... below end, along some axes. Attributes: axes
/// (required), starts, ends, steps.
inline Value slice(const Value& a, const Attributes& attributes) {
  return op("slice", {a}, attributes);
}
/// exp(x - max) / sum(exp(x - max)) along one axis. Attributes: axis.
inline Value softmax(const Value& a, const Attributes& attributes = {}) {
  return op("softmax", {a}, attributes);
}
/// Slices that follow each other along one axis; as many results as sizes. Attributes: axis
/// (required), sizes (required).
inline Values split(const Value& a, std::size_t results, const Attributes& attributes) {
  return ops("split", {a}, attributes, results);
}
/// Square root; NaN for x < 0.
inline Value sqrt(const Value& a) {
  return op("sqrt", {a});
}
/// start, start + delta, ... up to, and without, limit; arguments: start, limit, delta. Attributes:
/// count (required).
inline Value steps(const Value& a, const Value& b, const Value& c, const Attributes& attributes) {
  return op("steps", {a, b, c}, attributes);
}
/// a - b; integers wrap around.
inline Value sub(const Value& a, const Value& b) {
  return op("sub", {a, b});
}
/// Tangent of x in radians.
inline Value tan(const Value& a) {
  return op("tan", {a});
}
/// Hyperbolic tangent.
inline Value tanh(const Value& a) {
  return op("tanh", {a});
}
/// The k largest or smallest elements along an axis, sorted, of equal ones the first, and their
/// places. Attributes: k (required), axis, largest.
inline Values topk(const Value& a, const Attributes& attributes) {
  return ops("topk", {a}, attributes);
}
/// The axes in another order. Attributes: perm (required).
inline Value transpose(const Value& a, const Attributes& attributes) {
  return op("transpose", {a}, attributes);
}
/// Walks each tree for each row of x, and joins the weights of the leaves; arguments: x, roots,
/// features, thresholds, children, targets, weights. Node i with a feature f of 0 or more asks
/// whether x[f] <= thresholds[i], with a feature of -2 - f whether -x[f] <= thresholds[i], and goes
/// on at children[i, 1] if so, at children[i, 0] if not, as with a NaN. A node whose feature is -1
/// is a leaf: it gives weights[e] to the result targets[e] for each e from children[i, 0] to
/// children[i, 1] - 1. A result that no leaf gives a weight is 0. The trees are added up in their
/// order, in x's dtype. Attributes: results (required), aggregate.
inline Value tree_ensemble(const Values& inputs, const Attributes& attributes) {
  return op("tree_ensemble", inputs, attributes);
}
/// The distinct slices of x along an axis; their first places in x; for each slice of x which one
/// it is; and how often each occurs. Attributes: axis, sorted, count (required).
inline Values unique(const Value& a, const Attributes& attributes) {
  return ops("unique", {a}, attributes);
}
/// (code - zero) * scale of codes of 4 bits, two in a byte, the first in its lower bits, or of
/// bytes; arguments: codes, scales and, where they are not the middle everywhere, 8 or 128, zeros.
/// Attributes: size (required), bits.
inline Value unpack_blocks(const Values& inputs, const Attributes& attributes) {
  return op("unpack_blocks", inputs, attributes);
}
/// a where the condition is true, else b; arguments: condition, a, b.
inline Value where(const Value& a, const Value& b, const Value& c) {
  return op("where", {a, b, c});
}
/// Matrix product of windows, each a row of its elements with the channels last, and a matrix; or,
/// with groups of channels, of each group and its own matrix. Attributes: sizes (required),
/// strides, dilations, before, after, value, zero.
inline Value window_matmul(const Value& a, const Value& b, const Attributes& attributes) {
  return op("window_matmul", {a, b}, attributes);
}
/// All windows along some axes, their elements on axes of their own. Attributes: axes (required),
/// sizes (required), strides, dilations, before, after, value.
inline Value windows(const Value& a, const Attributes& attributes) {
  return op("windows", {a}, attributes);
}
// clang-format on

}  // namespace dyn
