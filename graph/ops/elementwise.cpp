// Element-wise operators: unary, binary with broadcasting, compare, where, cast.

#include <string>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_same(InferContext& context, std::vector<TensorType>& outputs) { outputs[0] = context.input(0); }

void infer_predicate(InferContext& context, std::vector<TensorType>& outputs) {
  outputs[0] = {DType::boolean, context.input(0).dims};
}

void infer_cast(InferContext& context, std::vector<TensorType>& outputs) {
  const std::string name = context.word("dtype");
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) context.fail(fmt::format("cast: there is no dtype {}", name));
  outputs[0] = {*dtype, context.input(0).dims};
}

void infer_binary(InferContext& context, std::vector<TensorType>& outputs) {
  require_same_dtype(context);
  outputs[0] = {context.input(0).dtype, broadcast_inputs(context)};
}

void infer_comparison(InferContext& context, std::vector<TensorType>& outputs) {
  infer_binary(context, outputs);
  outputs[0].dtype = DType::boolean;
}

void infer_where(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, bool_dtypes);
  require_same_dtype(context, 1);
  outputs[0] = {context.input(1).dtype, broadcast_inputs(context)};
}

constexpr InferFunction number_unary = infer_for<infer_same, number_dtypes>;
constexpr InferFunction float_unary = infer_for<infer_same, float_dtypes>;
constexpr InferFunction integer_unary = infer_for<infer_same, integer_dtypes>;
constexpr InferFunction bool_unary = infer_for<infer_same, bool_dtypes>;
constexpr InferFunction float_predicate = infer_for<infer_predicate, float_dtypes>;
constexpr InferFunction number_binary = infer_for<infer_binary, number_dtypes>;
constexpr InferFunction integer_binary = infer_for<infer_binary, integer_dtypes>;
constexpr InferFunction bool_binary = infer_for<infer_binary, bool_dtypes>;
constexpr InferFunction order = infer_for<infer_comparison, number_dtypes>;
constexpr InferFunction equality = infer_comparison;

constexpr const char* integer_to_integer = "An integer; the result has the same dtype";
constexpr const char* bool_to_bool = "bool; the result is bool";
constexpr const char* number_to_bool = "A number, the same on both sides; the result is bool";
constexpr const char* scalar_to_bool = "Any, the same on both sides; the result is bool";
constexpr const char* number_pair = "A number, the same on both sides; the result has that dtype";
constexpr const char* integer_pair = "An integer, the same on both sides; the result has that dtype";

struct Elementwise {
  const char* name;
  InferFunction infer;
  const char* dtypes;
  const char* summary;
};

const Elementwise unary[] = {
    {"neg", number_unary, number_to_number, "-x; the least integer stays itself."},
    {"abs", number_unary, number_to_number, "|x|; the least integer stays itself."},
    {"sign", number_unary, number_to_number, "-1, 0 or 1 by the sign of x; NaN stays NaN."},
    {"relu", number_unary, number_to_number, "max(x, 0); NaN stays NaN."},
    {"exp", float_unary, float_to_float, "e to the power x."},
    {"log", float_unary, float_to_float, "Natural logarithm; NaN for x < 0, -inf for 0."},
    {"sqrt", float_unary, float_to_float, "Square root; NaN for x < 0."},
    {"rsqrt", float_unary, float_to_float, "1 / sqrt(x)."},
    {"reciprocal", float_unary, float_to_float, "1 / x."},
    {"tanh", float_unary, float_to_float, "Hyperbolic tangent."},
    {"erf", float_unary, float_to_float, "Error function."},
    {"sigmoid", float_unary, float_to_float, "1 / (1 + exp(-x))."},
    {"sin", float_unary, float_to_float, "Sine of x in radians."},
    {"cos", float_unary, float_to_float, "Cosine of x in radians."},
    {"tan", float_unary, float_to_float, "Tangent of x in radians."},
    {"asin", float_unary, float_to_float, "Arc sine, within -pi / 2 .. pi / 2; NaN for |x| > 1."},
    {"acos", float_unary, float_to_float, "Arc cosine, within 0 .. pi; NaN for |x| > 1."},
    {"atan", float_unary, float_to_float, "Arc tangent, within -pi / 2 .. pi / 2."},
    {"sinh", float_unary, float_to_float, "Hyperbolic sine."},
    {"cosh", float_unary, float_to_float, "Hyperbolic cosine."},
    {"asinh", float_unary, float_to_float, "Inverse of the hyperbolic sine."},
    {"acosh", float_unary, float_to_float, "Inverse of the hyperbolic cosine, at least 0; NaN for x < 1."},
    {"atanh", float_unary, float_to_float, "Inverse of the hyperbolic tangent; NaN for |x| > 1."},
    {"floor", float_unary, float_to_float, "The greatest integer that is not above x."},
    {"ceil", float_unary, float_to_float, "The least integer that is not below x."},
    {"round", float_unary, float_to_float, "The nearest integer, halves to the even one."},
    {"isnan", float_predicate, "A float; the result is bool", "Whether x is not a number."},
    {"logical_not", bool_unary, bool_to_bool, "Whether x is false."},
    {"bit_not", integer_unary, integer_to_integer, "Every bit of x turned over."},
};

const Elementwise binary[] = {
    {"add", number_binary, number_pair, "a + b; integers wrap around."},
    {"sub", number_binary, number_pair, "a - b; integers wrap around."},
    {"mul", number_binary, number_pair, "a * b; integers wrap around."},
    {"div", number_binary, number_pair, "a / b; of integers the quotient truncated toward zero, and 0 where b is 0."},
    {"mod", number_binary, number_pair, "Remainder of a / b with the sign of b, as in Python; of integers 0 where b is 0."},
    {"pow", number_binary, number_pair, "a to the power b; integers wrap around, and are 1 / a^-b truncated toward zero where b < 0 (0 where a is 0)."},
    {"maximum", number_binary, number_pair, "The greater of a and b; NaN where either is NaN."},
    {"minimum", number_binary, number_pair, "The lesser of a and b; NaN where either is NaN."},
    {"bit_and", integer_binary, integer_pair, "The bits that both have."},
    {"bit_or", integer_binary, integer_pair, "The bits that either has."},
    {"bit_xor", integer_binary, integer_pair, "The bits that one of them has."},
    {"shift_left", integer_binary, integer_pair, "a * 2^b without what leaves the dtype's bits; 0 where b is negative, or no less than they are."},
    {"shift_right", integer_binary, integer_pair,
     "a / 2^b rounded down; where b is negative, or no less than the dtype has bits, 0, and -1 of a negative number."},
    {"logical_and", bool_binary, bool_to_bool, "Whether both are true."},
    {"logical_or", bool_binary, bool_to_bool, "Whether either is true."},
    {"equal", equality, scalar_to_bool, "Whether a == b; false where either is NaN."},
    {"not_equal", equality, scalar_to_bool, "Whether a != b; true where either is NaN."},
    {"less", order, number_to_bool, "Whether a < b; false where either is NaN."},
    {"less_equal", order, number_to_bool, "Whether a <= b; false where either is NaN."},
    {"greater", order, number_to_bool, "Whether a > b; false where either is NaN."},
    {"greater_equal", order, number_to_bool, "Whether a >= b; false where either is NaN."},
};

constexpr const char* broadcast_shapes =
    "Broadcast as numpy does: shapes are aligned at the right, dims of 1 are repeated. The result has the broadcast "
    "shape.";
constexpr const char* broadcast_errors = "Dims that differ and are not 1; different dtypes (there is no implicit promotion).";

}  // namespace

std::vector<OpDef> elementwise_ops() {
  std::vector<OpDef> ops;
  for (const Elementwise& op : unary)
    ops.push_back({op.name,
                   OpClass::Elementwise,
                   1,
                   1,
                   1,
                   {},
                   op.infer,
                   op.summary,
                   "x of any shape; the result has the same.",
                   op.dtypes,
                   "Other dtypes."});
  for (const Elementwise& op : binary)
    ops.push_back(
        {op.name, OpClass::Elementwise, 2, 2, 1, {}, op.infer, op.summary, broadcast_shapes, op.dtypes, broadcast_errors});
  ops.push_back({"where",
                 OpClass::Elementwise,
                 3,
                 3,
                 1,
                 {},
                 infer_where,
                 "a where the condition is true, else b; arguments: condition, a, b.",
                 broadcast_shapes,
                 "The condition is bool; a and b are of any, both the same, as is the result",
                 broadcast_errors});
  ops.push_back({"cast",
                 OpClass::Elementwise,
                 1,
                 1,
                 1,
                 {{"dtype", AttrKind::Word, std::nullopt, "the dtype of the result"}},
                 infer_cast,
                 "x in another dtype. Floats to integers truncate toward zero (beyond the integers there are: the nearest; NaN: 0), integers keep the low bits, "
                 "anything to bool tells x != 0.",
                 "x of any shape; the result has the same.",
                 "Any",
                 "An unknown dtype."});
  return ops;
}

}  // namespace dyn::graph
