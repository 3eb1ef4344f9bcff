"""A function for each operator of the text (docs/ir.md has their shapes, dtypes and attributes), for values of a Builder.

Numbers may stand among their arguments. Errors are those of Builder.op. Some have names of Python's own functions: `from dyn import functions as F`.
They are made from the operators' table, by DYN_UPDATE_GOLDEN=1 test_runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ._dyn import DimExpr, Value
from ._dyn import op as op
from ._dyn import ops as ops

Input: TypeAlias = Value | float
Size: TypeAlias = int | DimExpr
# begin


def abs(x: Input, /) -> Value:
    """|x|; the least integer stays itself."""
    return op("abs", x)


def acos(x: Input, /) -> Value:
    """Arc cosine, within 0 .. pi; NaN for |x| > 1."""
    return op("acos", x)


def acosh(x: Input, /) -> Value:
    """Inverse of the hyperbolic cosine, at least 0; NaN for x < 1."""
    return op("acosh", x)


def add(a: Input, b: Input, /) -> Value:
    """a + b; integers wrap around."""
    return op("add", a, b)


def append(a: Input, b: Input, /, *, at: Size, axis: int = -2) -> Value:
    """The state with x written in place, at positions at, at + 1, ...; arguments: a state, x."""
    return op("append", a, b, at=at, axis=axis)


def asin(x: Input, /) -> Value:
    """Arc sine, within -pi / 2 .. pi / 2; NaN for |x| > 1."""
    return op("asin", x)


def asinh(x: Input, /) -> Value:
    """Inverse of the hyperbolic sine."""
    return op("asinh", x)


def atan(x: Input, /) -> Value:
    """Arc tangent, within -pi / 2 .. pi / 2."""
    return op("atan", x)


def atanh(x: Input, /) -> Value:
    """Inverse of the hyperbolic tangent; NaN for |x| > 1."""
    return op("atanh", x)


def attention(*inputs: Input, scale: float = 0, causal: bool = False, scales: bool = False) -> Value:
    """softmax(q * k^T * scale + mask) * v; arguments: q, k, v, the scales of k and of v with scales=true, and optionally an additive mask."""
    return op("attention", *inputs, scale=scale, causal=causal, scales=scales)


def average_pool(
    x: Input, /, *, sizes: Sequence[int], strides: Sequence[int] = (), dilations: Sequence[int] = (), before: Sequence[Size] = (), after: Sequence[Size] = (),
    include_padding: bool = False
) -> Value:
    """Mean of each window, channels last."""
    return op("average_pool", x, sizes=sizes, strides=strides, dilations=dilations, before=before, after=after, include_padding=include_padding)


def bit_and(a: Input, b: Input, /) -> Value:
    """The bits that both have."""
    return op("bit_and", a, b)


def bit_cast(x: Input, /, *, dtype: object) -> Value:
    """The bits of x as another dtype of as many. A bool is a byte of 0 or 1; other bytes are true."""
    return op("bit_cast", x, dtype=dtype)


def bit_not(x: Input, /) -> Value:
    """Every bit of x turned over."""
    return op("bit_not", x)


def bit_or(a: Input, b: Input, /) -> Value:
    """The bits that either has."""
    return op("bit_or", a, b)


def bit_xor(a: Input, b: Input, /) -> Value:
    """The bits that one of them has."""
    return op("bit_xor", a, b)


def cast(x: Input, /, *, dtype: object) -> Value:
    """x in another dtype. Floats to integers truncate toward zero (beyond the integers there are: the nearest; NaN: 0), integers keep the low bits, anything to
    bool tells x != 0. To a narrow float by way of f32: to nearest, ties to even; too large ones become infinite, NaN where there is no infinity, and the
    greatest number where there is neither. To i4, u4, i2 and u2 as to i32, of which the low bits stay.
    """
    return op("cast", x, dtype=dtype)


def ceil(x: Input, /) -> Value:
    """The least integer that is not below x."""
    return op("ceil", x)


def compress(a: Input, b: Input, /, *, axis: int = 0, count: Size) -> Value:
    """The slices of x along an axis for which a condition holds; arguments: x, condition."""
    return op("compress", a, b, axis=axis, count=count)


def concat(*inputs: Input, axis: int) -> Value:
    """Tensors one after the other along one axis."""
    return op("concat", *inputs, axis=axis)


def conv(
    a: Input, b: Input, /, *, strides: Sequence[int] = (), dilations: Sequence[int] = (), before: Sequence[Size] = (), after: Sequence[Size] = (), groups: int =
    1, value: int = 0
) -> Value:
    """Convolution (cross-correlation), channels last. Where a filter that is not finite meets padding, their product may count as 0 or as NaN."""
    return op("conv", a, b, strides=strides, dilations=dilations, before=before, after=after, groups=groups, value=value)


def cos(x: Input, /) -> Value:
    """Cosine of x in radians."""
    return op("cos", x)


def cosh(x: Input, /) -> Value:
    """Hyperbolic cosine."""
    return op("cosh", x)


def count_ngrams(a: Input, b: Input, c: Input, /, *, shortest: int = 1, counts: Sequence[int], skips: int = 0, columns: Size) -> Value:
    """How often each n-gram occurs in each row, its items 1, 2, ... skips + 1 places apart, a single item once; arguments: x, items (of all n-grams, those of
    each length in ascending order), columns (the place in the result of each n-gram).
    """
    return op("count_ngrams", a, b, c, shortest=shortest, counts=counts, skips=skips, columns=columns)


def couple(x: Input, /, *, classes: int) -> Value:
    """Probabilities of classes from those of pairs of them: of pair (i, j), i < j, that it is i and not j. By the second method of Wu, Lin and Weng (2004), as
    LIBSVM stops it: after 100 rounds, or where all but 0.005 / C of each condition is met.
    """
    return op("couple", x, classes=classes)


def cumsum(x: Input, /, *, axis: int, exclusive: bool = False, reverse: bool = False, product: bool = False) -> Value:
    """Sums, or products, of all elements up to each one along an axis."""
    return op("cumsum", x, axis=axis, exclusive=exclusive, reverse=reverse, product=product)


def det(x: Input, /) -> Value:
    """The determinants of square matrices, by elimination in f64."""
    return op("det", x)


def div(a: Input, b: Input, /) -> Value:
    """a / b; of integers the quotient truncated toward zero, and 0 where b is 0."""
    return op("div", a, b)


def equal(a: Input, b: Input, /) -> Value:
    """True where a == b; false where either is NaN."""
    return op("equal", a, b)


def erf(x: Input, /) -> Value:
    """Error function."""
    return op("erf", x)


def exp(x: Input, /) -> Value:
    """e to the power x."""
    return op("exp", x)


def expand(x: Input, /, *, shape: Sequence[Size]) -> Value:
    """Repeats dims of 1, and adds dims on the left."""
    return op("expand", x, shape=shape)


def floor(x: Input, /) -> Value:
    """The greatest integer that is not above x."""
    return op("floor", x)


def gather(a: Input, b: Input, /, *, axis: int = 0) -> Value:
    """Slices of data along one axis, chosen by indices; arguments: data, indices."""
    return op("gather", a, b, axis=axis)


def gelu(x: Input, /, *, approximate: str = "none") -> Value:
    """0.5 * x * (1 + erf(x / sqrt(2))), or 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))."""
    return op("gelu", x, approximate=approximate)


def greater(a: Input, b: Input, /) -> Value:
    """True where a > b; false where either is NaN."""
    return op("greater", a, b)


def greater_equal(a: Input, b: Input, /) -> Value:
    """True where a >= b; false where either is NaN."""
    return op("greater_equal", a, b)


def gru(
    *inputs: Input, direction: str = "forward", clip: float = 0, f: str = "sigmoid", f_alpha: float = 1, f_beta: float = 0, g: str = "tanh", g_alpha: float = 1,
    g_beta: float = 0, linear_before_reset: bool = False
) -> tuple[Value, ...]:
    """A gated recurrent unit; arguments: gates (the inputs' share of update, reset and hidden), r, bias, lengths, h and, with r in i8, scales."""
    return ops(
        "gru", *inputs, direction=direction, clip=clip, f=f, f_alpha=f_alpha, f_beta=f_beta, g=g, g_alpha=g_alpha, g_beta=g_beta,
        linear_before_reset=linear_before_reset
    )


def if_(a: Input, b: Input, c: Input, /, *, dims: Sequence[Size] = ()) -> Value:
    """One of two values. What only the other needs is not computed; arguments: condition, value if it holds, value if it does not."""
    return op("if", a, b, c, dims=dims)


def isnan(x: Input, /) -> Value:
    """True where x is not a number."""
    return op("isnan", x)


def layer_norm(a: Input, b: Input, c: Input, /, *, epsilon: float = 1e-05) -> Value:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and (biased) variance over the last axis; arguments: x, weight, bias."""
    return op("layer_norm", a, b, c, epsilon=epsilon)


def less(a: Input, b: Input, /) -> Value:
    """True where a < b; false where either is NaN."""
    return op("less", a, b)


def less_equal(a: Input, b: Input, /) -> Value:
    """True where a <= b; false where either is NaN."""
    return op("less_equal", a, b)


def linear_attention(*inputs: Input, rule: str = "linear", scale: float = 1) -> tuple[Value, ...]:
    """Attention by a matrix S for each head: at each step S becomes exp(decay) * S (gated), beta * (v - S^T k) takes the place of v (delta), k v^T is added to
    S, and scale * S^T q is the result; arguments: q, k, v, state (S before the first step), decay (gated), beta (delta).
    """
    return ops("linear_attention", *inputs, rule=rule, scale=scale)


def log(x: Input, /) -> Value:
    """Natural logarithm; NaN for x < 0, -inf for 0."""
    return op("log", x)


def logical_and(a: Input, b: Input, /) -> Value:
    """True where both are."""
    return op("logical_and", a, b)


def logical_not(x: Input, /) -> Value:
    """True where x is false."""
    return op("logical_not", x)


def logical_or(a: Input, b: Input, /) -> Value:
    """True where either is."""
    return op("logical_or", a, b)


def loop(
    *inputs: Input, results: int, body: str, carried: int = 0, scanned: int = 0, conditional: bool = False, steps: Size, dims: Sequence[Size] = ()
) -> tuple[Value, ...]:
    """Runs a body for a number of steps, or while a condition holds. Arguments: the most steps, the condition, the first carried values, the scanned tensors,
    and values that all steps share. Results: the last carried values, then what each step makes beside them, stacked. The body's inputs are the number of the
    step, the condition, the carried values, a slice of each scanned tensor, and the shared values; its outputs the next condition if `conditional`, the carried
    values, and what is stacked.
    """
    return ops("loop", *inputs, results=results, body=body, carried=carried, scanned=scanned, conditional=conditional, steps=steps, dims=dims)


def lstm(
    *inputs: Input, direction: str = "forward", clip: float = 0, f: str = "sigmoid", f_alpha: float = 1, f_beta: float = 0, g: str = "tanh", g_alpha: float = 1,
    g_beta: float = 0, h: str = "tanh", h_alpha: float = 1, h_beta: float = 0, input_forget: bool = False
) -> tuple[Value, ...]:
    """A long short-term memory; arguments: gates (the inputs' share of input, output, forget and cell), r, bias, lengths, h, c, peepholes and, with r in i8,
    scales.
    """
    return ops(
        "lstm", *inputs, direction=direction, clip=clip, f=f, f_alpha=f_alpha, f_beta=f_beta, g=g, g_alpha=g_alpha, g_beta=g_beta, h=h, h_alpha=h_alpha,
        h_beta=h_beta, input_forget=input_forget
    )


def matmul(a: Input, b: Input, /, *, transpose_a: bool = False, transpose_b: bool = False, zero: int = 0) -> Value:
    """Matrix product over the last two axes, for each index of the others."""
    return op("matmul", a, b, transpose_a=transpose_a, transpose_b=transpose_b, zero=zero)


def max_pool(
    x: Input, /, *, sizes: Sequence[int], strides: Sequence[int] = (), dilations: Sequence[int] = (), before: Sequence[Size] = (), after: Sequence[Size] = ()
) -> Value:
    """Greatest element of each window, channels last; padding never is it."""
    return op("max_pool", x, sizes=sizes, strides=strides, dilations=dilations, before=before, after=after)


def maximum(a: Input, b: Input, /) -> Value:
    """The greater of a and b; NaN where either is NaN."""
    return op("maximum", a, b)


def minimum(a: Input, b: Input, /) -> Value:
    """The lesser of a and b; NaN where either is NaN."""
    return op("minimum", a, b)


def mod(a: Input, b: Input, /) -> Value:
    """Remainder of a / b with the sign of b, a zero too, as in Python; of integers 0 where b is 0."""
    return op("mod", a, b)


def mul(a: Input, b: Input, /) -> Value:
    """a * b; integers wrap around."""
    return op("mul", a, b)


def neg(x: Input, /) -> Value:
    """-x; the least integer stays itself."""
    return op("neg", x)


def nms(*inputs: Input, center: bool = False, count: Size) -> Value:
    """Boxes that no better one of the same class overlaps by more than a share; arguments: boxes, scores, most boxes of a class, overlap, least score."""
    return op("nms", *inputs, center=center, count=count)


def nonzero(x: Input, /, *, count: Size) -> Value:
    """The places of all elements that are not 0, in row-major order."""
    return op("nonzero", x, count=count)


def not_equal(a: Input, b: Input, /) -> Value:
    """True where a != b, or either is NaN."""
    return op("not_equal", a, b)


def pad(x: Input, /, *, before: Sequence[Size], after: Sequence[Size], value: float = 0) -> Value:
    """x surrounded by a constant."""
    return op("pad", x, before=before, after=after, value=value)


def pow(a: Input, b: Input, /) -> Value:
    """a to the power b; integers wrap around, and are 1 / a^-b truncated toward zero where b < 0 (0 where a is 0)."""
    return op("pow", a, b)


def range(*inputs: Input, start: Size = 0, end: Size, step: int = 1, dtype: object = "i64") -> Value:
    """start, start + step, ... up to, and without, end."""
    return op("range", *inputs, start=start, end=end, step=step, dtype=dtype)


def reciprocal(x: Input, /) -> Value:
    """1 / x."""
    return op("reciprocal", x)


def reduce_max(x: Input, /, *, axes: Sequence[int] = (), keepdims: bool = True) -> Value:
    """Greatest element over the axes, NaN where one is; over no elements -inf, or the least integer."""
    return op("reduce_max", x, axes=axes, keepdims=keepdims)


def reduce_mean(x: Input, /, *, axes: Sequence[int] = (), keepdims: bool = True) -> Value:
    """Mean over the axes; NaN over no elements."""
    return op("reduce_mean", x, axes=axes, keepdims=keepdims)


def reduce_min(x: Input, /, *, axes: Sequence[int] = (), keepdims: bool = True) -> Value:
    """Least element over the axes, NaN where one is; over no elements inf, or the greatest integer."""
    return op("reduce_min", x, axes=axes, keepdims=keepdims)


def reduce_prod(x: Input, /, *, axes: Sequence[int] = (), keepdims: bool = True) -> Value:
    """Product over the axes, integers wrap around; 1 over no elements."""
    return op("reduce_prod", x, axes=axes, keepdims=keepdims)


def reduce_sum(x: Input, /, *, axes: Sequence[int] = (), keepdims: bool = True) -> Value:
    """Sum over the axes, integers wrap around; 0 over no elements."""
    return op("reduce_sum", x, axes=axes, keepdims=keepdims)


def relu(x: Input, /) -> Value:
    """max(x, 0); NaN stays NaN."""
    return op("relu", x)


def reshape(x: Input, /, *, shape: Sequence[Size], not_one: Sequence[Size] = ()) -> Value:
    """The same elements, in row-major order, under another shape."""
    return op("reshape", x, shape=shape, not_one=not_one)


def rms_norm(a: Input, b: Input, /, *, epsilon: float = 1e-05) -> Value:
    """x / sqrt(mean(x * x) + epsilon) * weight, with the mean over the last axis; arguments: x, weight."""
    return op("rms_norm", a, b, epsilon=epsilon)


def rnn(*inputs: Input, direction: str = "forward", clip: float = 0, f: str = "tanh", f_alpha: float = 1, f_beta: float = 0) -> tuple[Value, ...]:
    """A recurrent layer; arguments: gates (the inputs' share), r, bias, lengths, h and, with r in i8, scales."""
    return ops("rnn", *inputs, direction=direction, clip=clip, f=f, f_alpha=f_alpha, f_beta=f_beta)


def round(x: Input, /) -> Value:
    """The nearest integer, halves to the even one."""
    return op("round", x)


def rsqrt(x: Input, /) -> Value:
    """1 / sqrt(x)."""
    return op("rsqrt", x)


def scatter_elements(a: Input, b: Input, c: Input, /, *, axis: int = 0, reduction: str = "none") -> Value:
    """data with updates at the places that indices give along one axis; arguments: data, indices, updates."""
    return op("scatter_elements", a, b, c, axis=axis, reduction=reduction)


def scatter_nd(a: Input, b: Input, c: Input, /, *, reduction: str = "none") -> Value:
    """data with slices put at the places that rows of indices give; arguments: data, indices, updates."""
    return op("scatter_nd", a, b, c, reduction=reduction)


def shift_left(a: Input, b: Input, /) -> Value:
    """a * 2^b without what leaves the dtype's bits; 0 where b is negative, or no less than they are."""
    return op("shift_left", a, b)


def shift_right(a: Input, b: Input, /) -> Value:
    """a / 2^b rounded down; where b is negative, or no less than the dtype has bits, 0, and -1 of a negative number."""
    return op("shift_right", a, b)


def sigmoid(x: Input, /) -> Value:
    """1 / (1 + exp(-x))."""
    return op("sigmoid", x)


def sign(x: Input, /) -> Value:
    """-1, 0 or 1 by the sign of x; NaN stays NaN."""
    return op("sign", x)


def silu(x: Input, /) -> Value:
    """x * sigmoid(x)."""
    return op("silu", x)


def sin(x: Input, /) -> Value:
    """Sine of x in radians."""
    return op("sin", x)


def sinh(x: Input, /) -> Value:
    """Hyperbolic sine."""
    return op("sinh", x)


def sizes(x: Input, /, *, dims: Sequence[Size]) -> Value:
    """x itself, whose elements become dims."""
    return op("sizes", x, dims=dims)


def slice(x: Input, /, *, axes: Sequence[int], starts: Sequence[Size] = (), ends: Sequence[Size] = (), steps: Sequence[int] = ()) -> Value:
    """The elements at start, start + step, ... below end, along some axes."""
    return op("slice", x, axes=axes, starts=starts, ends=ends, steps=steps)


def softmax(x: Input, /, *, axis: int = -1) -> Value:
    """exp(x - max) / sum(exp(x - max)) along one axis."""
    return op("softmax", x, axis=axis)


def split(x: Input, /, *, results: int, axis: int, sizes: Sequence[Size]) -> tuple[Value, ...]:
    """Slices that follow each other along one axis; as many results as sizes."""
    return ops("split", x, results=results, axis=axis, sizes=sizes)


def sqrt(x: Input, /) -> Value:
    """Square root; NaN for x < 0."""
    return op("sqrt", x)


def steps(a: Input, b: Input, c: Input, /, *, count: Size) -> Value:
    """start, start + delta, ... up to, and without, limit; arguments: start, limit, delta."""
    return op("steps", a, b, c, count=count)


def sub(a: Input, b: Input, /) -> Value:
    """a - b; integers wrap around."""
    return op("sub", a, b)


def tan(x: Input, /) -> Value:
    """Tangent of x in radians."""
    return op("tan", x)


def tanh(x: Input, /) -> Value:
    """Hyperbolic tangent."""
    return op("tanh", x)


def topk(x: Input, /, *, k: Size, axis: int = -1, largest: bool = True) -> tuple[Value, ...]:
    """The k largest or smallest elements along an axis, sorted, of equal ones the first, and their places."""
    return ops("topk", x, k=k, axis=axis, largest=largest)


def transpose(x: Input, /, *, perm: Sequence[int]) -> Value:
    """The axes in another order."""
    return op("transpose", x, perm=perm)


def tree_ensemble(*inputs: Input, results: int, aggregate: str = "sum") -> Value:
    """Walks each tree for each row of x, and joins the weights of the leaves; arguments: x, roots, features, thresholds, children, targets, weights. Node i
    with a feature f of 0 or more asks whether x[f] <= thresholds[i], with a feature of -2 - f whether -x[f] <= thresholds[i], and goes on at children[i, 1] if
    so, at children[i, 0] if not, as with a NaN. A node whose feature is -1 is a leaf: it gives weights[e] to the result targets[e] for each e from children[i,
    0] to children[i, 1] - 1. A result that no leaf gives a weight is 0. The trees are added up in their order, in x's dtype.
    """
    return op("tree_ensemble", *inputs, results=results, aggregate=aggregate)


def unique(x: Input, /, *, axis: int = 0, sorted: bool = True, count: Size) -> tuple[Value, ...]:
    """The distinct slices of x along an axis; their first places in x; for each slice of x which one it is; and how often each occurs."""
    return ops("unique", x, axis=axis, sorted=sorted, count=count)


def unpack_blocks(*inputs: Input, size: Size, bits: int = 4) -> Value:
    """(code - zero) * scale of codes of 4 bits, two in a byte, the first in its lower bits, or of bytes; arguments: codes, scales and, where they are not the
    middle everywhere, 8 or 128, zeros.
    """
    return op("unpack_blocks", *inputs, size=size, bits=bits)


def where(a: Input, b: Input, c: Input, /) -> Value:
    """a where the condition is true, else b; arguments: condition, a, b."""
    return op("where", a, b, c)


def window_matmul(
    a: Input, b: Input, /, *, sizes: Sequence[int], strides: Sequence[int] = (), dilations: Sequence[int] = (), before: Sequence[Size] = (), after:
    Sequence[Size] = (), value: int = 0, zero: int = 0
) -> Value:
    """Matrix product of windows, each a row of its elements with the channels last, and a matrix; or, with groups of channels, of each group and its own
    matrix.
    """
    return op("window_matmul", a, b, sizes=sizes, strides=strides, dilations=dilations, before=before, after=after, value=value, zero=zero)


def windows(
    x: Input, /, *, axes: Sequence[int], sizes: Sequence[int], strides: Sequence[int] = (), dilations: Sequence[int] = (), before: Sequence[Size] = (), after:
    Sequence[Size] = (), value: float = 0
) -> Value:
    """All windows along some axes, their elements on axes of their own."""
    return op("windows", x, axes=axes, sizes=sizes, strides=strides, dilations=dilations, before=before, after=after, value=value)


# end
