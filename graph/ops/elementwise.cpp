// Element-wise operators: unary, binary with broadcasting, compare, where, cast.

#include <string>

#include <fmt/format.h>

#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"
#include "graph/ops/scalar_ops.hpp"

namespace dyn::graph {

namespace {

void infer_same(InferContext& context, std::vector<TensorType>& outputs) {
  outputs[0] = context.input(0);
}

void infer_predicate(InferContext& context, std::vector<TensorType>& outputs) {
  outputs[0] = {DType::boolean, context.input(0).dims};
}

void infer_cast(InferContext& context, std::vector<TensorType>& outputs) {
  const std::string name = context.word("dtype");
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) context.fail(fmt::format("cast: there is no dtype {}", name));
  outputs[0] = {*dtype, context.input(0).dims};
}

void infer_bit_cast(InferContext& context, std::vector<TensorType>& outputs) {
  infer_cast(context, outputs);
  const DType from = context.input(0).dtype, to = outputs[0].dtype;
  if (size_of(from) != size_of(to) || packed_bits(from) != packed_bits(to))
    context.fail(fmt::format("bit_cast: {} and {} have different numbers of bits", name_of(from),
                             name_of(to)));
  if (is_half(from) || is_half(to))
    context.fail("bit_cast: f16 and bf16 are not supported, which are computed in f32");
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

/// `infer` on operands of the dtypes that the operator takes.
template <InferFunction infer>
InferFunction checked(ScalarOperands takes) {
  switch (takes) {
    case ScalarOperands::Numbers: return infer_for<infer, number_dtypes>;
    case ScalarOperands::Floats: return infer_for<infer, float_dtypes>;
    case ScalarOperands::Integers: return infer_for<infer, integer_dtypes>;
    case ScalarOperands::Booleans: return infer_for<infer, bool_dtypes>;
    case ScalarOperands::Any: break;
  }
  return infer;
}

InferFunction inference_of(const ScalarOpInfo& op) {
  if (op.operands == 1)
    return op.has(Tests) ? checked<infer_predicate>(op.takes) : checked<infer_same>(op.takes);
  return op.has(Tests) ? checked<infer_comparison>(op.takes) : checked<infer_binary>(op.takes);
}

/// For docs/ir.md: "A number, the same on both sides; the result has that dtype".
std::string dtypes_of(const ScalarOpInfo& op) {
  constexpr std::string_view names[] = {"A number", "A float", "An integer", "bool", "Any"};
  std::string text(names[static_cast<std::size_t>(op.takes)]);
  if (op.takes == ScalarOperands::Booleans) return text + "; the result is bool";
  if (op.operands == 2) text += ", the same on both sides";
  if (op.has(Tests)) return text + "; the result is bool";
  return text +
         (op.operands == 2 ? "; the result has that dtype" : "; the result has the same dtype");
}

constexpr const char* broadcast_shapes =
    "Broadcast as numpy does: shapes are aligned at the right, dims of 1 are repeated. The result "
    "has the broadcast "
    "shape.";
constexpr const char* broadcast_errors =
    "Dims that differ and are not 1; different dtypes (there is no implicit promotion).";

}  // namespace

std::vector<OpDef> elementwise_ops() {
  std::vector<OpDef> ops;
  for (const ScalarOpInfo& op : scalar_ops()) {
    const bool alone = op.operands == 1;
    ops.push_back({static_cast<OpId>(op.op),
                   OpClass::Elementwise,
                   op.operands,
                   op.operands,
                   1,
                   {},
                   inference_of(op),
                   std::string(op.summary),
                   alone ? "x of any shape; the result has the same." : broadcast_shapes,
                   dtypes_of(op),
                   alone ? "Other dtypes." : broadcast_errors});
    ops.back().scalar = &op;
  }
  ops.push_back({OpId::Where,
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
  ops.push_back(
      {OpId::Cast,
       OpClass::Elementwise,
       1,
       1,
       1,
       {{"dtype", AttrKind::Word, std::nullopt, "the dtype of the result"}},
       infer_cast,
       "x in another dtype. Floats to integers truncate toward zero (beyond the integers "
       "there are: the nearest; NaN: 0), integers keep the low bits, "
       "anything to bool tells x != 0. To a narrow float by way of f32: to nearest, ties to even; "
       "too large ones become infinite, NaN where there is no infinity, and the greatest "
       "number where there is neither. To i4, u4, i2 and u2 as to i32, of which the low "
       "bits stay.",
       "x of any shape; the result has the same.",
       "Any",
       "An unknown dtype."});
  ops.push_back({OpId::BitCast,
                 OpClass::Elementwise,
                 1,
                 1,
                 1,
                 {{"dtype", AttrKind::Word, std::nullopt, "the dtype of the result"}},
                 infer_bit_cast,
                 "The bits of x as another dtype of as many. A bool is a byte of 0 or 1; other "
                 "bytes are true.",
                 "x of any shape; the result has the same.",
                 "Any but f16 and bf16",
                 "An unknown dtype, or one of more or fewer bits."});
  return ops;
}

}  // namespace dyn::graph
