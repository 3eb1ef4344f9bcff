// Element-wise operators: unary, binary with broadcasting, compare, where, cast.

#include <string>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_same(InferContext& context, std::vector<TensorType>& outputs) { outputs[0] = context.input(0); }

void infer_float_unary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32});
  infer_same(context, outputs);
}

void infer_number_unary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32, DType::i32, DType::i64});
  infer_same(context, outputs);
}

void infer_bool_unary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::boolean});
  infer_same(context, outputs);
}

void infer_isnan(InferContext& context, std::vector<TensorType>& outputs) {
  infer_float_unary(context, outputs);
  outputs[0].dtype = DType::boolean;
}

void infer_cast(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32, DType::i32, DType::i64, DType::boolean});
  const std::string name = context.word("dtype");
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) context.fail(fmt::format("cast: there is no dtype {}", name));
  if (*dtype != DType::f32 && *dtype != DType::i32 && *dtype != DType::i64 && *dtype != DType::boolean)
    context.fail(fmt::format("cast does not give {}: dtype must be f32, i32, i64 or bool", name));
  outputs[0] = {*dtype, context.input(0).dims};
}

void infer_binary(InferContext& context, std::vector<TensorType>& outputs) {
  require_same_dtype(context);
  outputs[0] = {context.input(0).dtype, broadcast_inputs(context)};
}

void infer_number_binary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32, DType::i32, DType::i64});
  infer_binary(context, outputs);
}

void infer_float_binary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32});
  infer_binary(context, outputs);
}

void infer_bool_binary(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::boolean});
  infer_binary(context, outputs);
}

void infer_order(InferContext& context, std::vector<TensorType>& outputs) {
  infer_number_binary(context, outputs);
  outputs[0].dtype = DType::boolean;
}

void infer_equality(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::f32, DType::i32, DType::i64, DType::boolean});
  infer_binary(context, outputs);
  outputs[0].dtype = DType::boolean;
}

void infer_where(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, {DType::boolean});
  require_dtype(context, 1, {DType::f32, DType::i32, DType::i64, DType::boolean});
  require_same_dtype(context, 1);
  outputs[0] = {context.input(1).dtype, broadcast_inputs(context)};
}

constexpr const char* float_to_float = "f32; the result has the same dtype";
constexpr const char* number_to_number = "f32, i32 or i64; the result has the same dtype";
constexpr const char* bool_to_bool = "bool; the result is bool";
constexpr const char* number_to_bool = "both f32, i32 or i64, the same on both sides; the result is bool";
constexpr const char* number_pair = "f32, i32 or i64, the same on both sides; the result has that dtype";

struct Elementwise {
  const char* name;
  InferFunction infer;
  const char* dtypes;
  const char* summary;
};

const Elementwise unary[] = {
    {"neg", infer_number_unary, number_to_number, "-x; the least integer stays itself."},
    {"abs", infer_number_unary, number_to_number, "|x|; the least integer stays itself."},
    {"sign", infer_number_unary, number_to_number, "-1, 0 or 1 by the sign of x; NaN stays NaN."},
    {"relu", infer_number_unary, number_to_number, "max(x, 0); NaN stays NaN."},
    {"exp", infer_float_unary, float_to_float, "e to the power x."},
    {"log", infer_float_unary, float_to_float, "Natural logarithm; NaN for x < 0, -inf for 0."},
    {"sqrt", infer_float_unary, float_to_float, "Square root; NaN for x < 0."},
    {"rsqrt", infer_float_unary, float_to_float, "1 / sqrt(x)."},
    {"reciprocal", infer_float_unary, float_to_float, "1 / x."},
    {"tanh", infer_float_unary, float_to_float, "Hyperbolic tangent."},
    {"erf", infer_float_unary, float_to_float, "Error function."},
    {"sigmoid", infer_float_unary, float_to_float, "1 / (1 + exp(-x))."},
    {"sin", infer_float_unary, float_to_float, "Sine of x in radians."},
    {"cos", infer_float_unary, float_to_float, "Cosine of x in radians."},
    {"floor", infer_float_unary, float_to_float, "The greatest integer that is not above x."},
    {"ceil", infer_float_unary, float_to_float, "The least integer that is not below x."},
    {"round", infer_float_unary, float_to_float, "The nearest integer, halves to the even one."},
    {"isnan", infer_isnan, "f32; the result is bool", "Whether x is not a number."},
    {"logical_not", infer_bool_unary, bool_to_bool, "Whether x is false."},
};

const Elementwise binary[] = {
    {"add", infer_number_binary, number_pair, "a + b; integers wrap around."},
    {"sub", infer_number_binary, number_pair, "a - b; integers wrap around."},
    {"mul", infer_number_binary, number_pair, "a * b; integers wrap around."},
    {"div", infer_number_binary, number_pair,
     "a / b; of integers the quotient truncated toward zero, and 0 where b is 0."},
    {"mod", infer_number_binary, number_pair,
     "Remainder of a / b with the sign of b, as in Python; of integers 0 where b is 0."},
    {"pow", infer_float_binary, "f32 on both sides; the result is f32", "a to the power b."},
    {"maximum", infer_number_binary, number_pair, "The greater of a and b; NaN where either is NaN."},
    {"minimum", infer_number_binary, number_pair, "The lesser of a and b; NaN where either is NaN."},
    {"logical_and", infer_bool_binary, bool_to_bool, "Whether both are true."},
    {"logical_or", infer_bool_binary, bool_to_bool, "Whether either is true."},
    {"equal", infer_equality, "f32, i32, i64 or bool, the same on both sides; the result is bool",
     "Whether a == b; false where either is NaN."},
    {"not_equal", infer_equality, "f32, i32, i64 or bool, the same on both sides; the result is bool",
     "Whether a != b; true where either is NaN."},
    {"less", infer_order, number_to_bool, "Whether a < b; false where either is NaN."},
    {"less_equal", infer_order, number_to_bool, "Whether a <= b; false where either is NaN."},
    {"greater", infer_order, number_to_bool, "Whether a > b; false where either is NaN."},
    {"greater_equal", infer_order, number_to_bool, "Whether a >= b; false where either is NaN."},
};

constexpr const char* broadcast_shapes =
    "Broadcast as numpy does: shapes are aligned at the right, dims of 1 are repeated. The result has the broadcast "
    "shape.";
constexpr const char* broadcast_errors =
    "Dims that differ and are not 1; different dtypes (there is no implicit promotion).";

}  // namespace

std::vector<OpDef> elementwise_ops() {
  std::vector<OpDef> ops;
  for (const Elementwise& op : unary)
    ops.push_back({op.name, OpClass::Elementwise, 1, 1, 1, {}, op.infer, op.summary,
                   "x of any shape; the result has the same.", op.dtypes, "Other dtypes."});
  for (const Elementwise& op : binary)
    ops.push_back({op.name, OpClass::Elementwise, 2, 2, 1, {}, op.infer, op.summary, broadcast_shapes, op.dtypes,
                   broadcast_errors});
  ops.push_back({"where", OpClass::Elementwise, 3, 3, 1, {}, infer_where,
                 "a where the condition is true, else b; arguments: condition, a, b.", broadcast_shapes,
                 "The condition is bool; a and b are f32, i32, i64 or bool, both the same, as is the result",
                 broadcast_errors});
  ops.push_back({"cast", OpClass::Elementwise, 1, 1, 1,
                 {{"dtype", AttrKind::Word, std::nullopt, "the dtype of the result"}}, infer_cast,
                 "x in another dtype; floats to integers truncate toward zero, anything to bool tells x != 0.",
                 "x of any shape; the result has the same.", "From and to f32, i32, i64, bool",
                 "An unknown dtype; f16, bf16 and i8."});
  return ops;
}

}  // namespace dyn::graph
