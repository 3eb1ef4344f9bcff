// Operators whose run decides sizes: each gives values to the dims that its attributes name. `if`
// decides which nodes run at all.

#include <algorithm>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

constexpr DType i64_dtype[] = {DType::i64};

Dim count(InferContext& context) { return define_symbol(context, "count", context.dim("count")); }

void infer_nonzero(InferContext& context, std::vector<TensorType>& outputs) {
  outputs[0] = {DType::i64, {context.dims().constant(context.input(0).rank()), count(context)}};
}

void infer_compress(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_dtype(context, 1, bool_dtypes);
  require_rank(context, 1, 1);
  const TensorType x = context.input(0);
  const int axis = axis_attr(context, "axis", x.rank());
  context.require_less_equal(context.input(1).dims[0], x.dims[static_cast<std::size_t>(axis)],
                             dim_name(context, 1, 0), dim_name(context, 0, axis));
  outputs[0] = x;
  outputs[0].dims[static_cast<std::size_t>(axis)] = count(context);
}

void infer_unique(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  const TensorType x = context.input(0);
  const auto axis = static_cast<std::size_t>(axis_attr(context, "axis", x.rank()));
  const Dim distinct = count(context);
  outputs[0] = x;
  outputs[0].dims[axis] = distinct;
  outputs[1] = {DType::i64, {distinct}};
  outputs[2] = {DType::i64, {x.dims[axis]}};
  outputs[3] = {DType::i64, {distinct}};
}

void infer_nms(InferContext& context, std::vector<TensorType>& outputs) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{4}})
    require_dtype(context, i, single_dtypes);
  require_dtype(context, 2, i64_dtype);
  require_rank(context, 0, 3);
  require_rank(context, 1, 3);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}, std::size_t{4}})
    require_rank(context, i, 0);
  const TensorType boxes = context.input(0), scores = context.input(1);
  context.require_equal(boxes.dims[0], scores.dims[0], dim_name(context, 0, 0),
                        dim_name(context, 1, 0));
  context.require_equal(boxes.dims[1], scores.dims[2], dim_name(context, 0, 1),
                        dim_name(context, 1, 2));
  context.require_equal(boxes.dims[2], context.dims().constant(4), dim_name(context, 0, 2),
                        "corners of a box");
  outputs[0] = {DType::i64, {count(context), context.dims().constant(3)}};
}

void infer_steps(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, number_dtypes);
  require_same_dtype(context);
  for (std::size_t i = 0; i < 3; ++i) require_rank(context, i, 0);
  outputs[0] = {context.input(0).dtype, {count(context)}};
}

void infer_sizes(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, index_dtypes);
  require_rank(context, 0, 1);
  const std::vector<Dim> dims = context.dim_list("dims");
  context.require_equal(context.input(0).dims[0],
                        context.dims().constant(static_cast<std::int64_t>(dims.size())),
                        dim_name(context, 0, 0), "the number of dims");
  for (const Dim dim : dims) define_symbol(context, "dims", dim);
  outputs[0] = context.input(0);
}

/// Results keep a dim that both sides share. Other dims get names, and values when one side has
/// run.
void infer_if(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, bool_dtypes);
  require_rank(context, 0, 0);
  const TensorType a = context.input(1), b = context.input(2);
  if (a.dtype != b.dtype || a.rank() != b.rank())
    context.fail(fmt::format("if: one side is {}, the other {}", to_string(a), to_string(b)));
  const std::vector<Dim> dims = context.dim_list("dims");
  if (!dims.empty() && dims.size() != a.dims.size())
    context.fail(
        fmt::format("if: dims has {} entries, but the sides have rank {}", dims.size(), a.rank()));
  outputs[0] = a;
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    const bool same = prove_equal(a.dims[i], b.dims[i]) == true;
    if (!same && dims.empty())
      context.fail(
          fmt::format("if: one side is {}, the other {}; give the result's dims names: dims=[...]",
                      to_string(a), to_string(b)));
    if (!same) outputs[0].dims[i] = define_symbol(context, "dims", dims[i]);
  }
}

const AttrDef count_attr{"count", AttrKind::Dim, std::nullopt,
                         "a dim that this operator gives its value"};

}  // namespace

std::vector<OpDef> defining_ops() {
  return {
      {OpId::Nonzero,
       OpClass::Host,
       1,
       1,
       1,
       {count_attr},
       infer_nonzero,
       "The places of all elements that are not 0, in row-major order.",
       "x of any shape; the result is [rank of x, count].",
       "x of any dtype; the result is i64",
       "A count that an input's shape gives.",
       {"count"}},
      {OpId::Compress,
       OpClass::Host,
       2,
       2,
       1,
       {{"axis", AttrKind::Integer, "0", "the axis along which is chosen"}, count_attr},
       infer_compress,
       "The slices of x along an axis for which a condition holds; arguments: x, condition.",
       "condition: [C] with C at most the axis; the result has count there.",
       "x of any dtype, as the result; condition bool",
       "An axis outside of x; a longer condition.",
       {"count"}},
      {OpId::Unique,
       OpClass::Host,
       1,
       1,
       4,
       {{"axis", AttrKind::Integer, "0", "the axis whose slices are compared"},
        {"sorted", AttrKind::Boolean, "true", "in ascending order, or in that of x"},
        count_attr},
       infer_unique,
       "The distinct slices of x along an axis; their first places in x; for each slice of x which "
       "one it is; and how often each occurs.",
       "x of any shape but a scalar, with N slices; the results are as x with count slices, "
       "[count], [N] and [count].",
       "x of any dtype, as the first result; the others are i64",
       "An axis outside of x.",
       {"count"}},
      {OpId::Nms,
       OpClass::Host,
       5,
       5,
       1,
       {{"center", AttrKind::Boolean, "false",
         "boxes are centre x, centre y, width, height, not two corners y, x, y, x"},
        count_attr},
       infer_nms,
       "Boxes that no better one of the same class overlaps by more than a share; arguments: "
       "boxes, scores, most boxes of a class, overlap, least score.",
       "boxes: [B, N, 4], scores: [B, C, N], scalars; the result is [count, 3]: batch, class and "
       "box.",
       "f32, f16 or bf16, the third argument i64; the result is i64",
       "Other shapes.",
       {"count"}},
      {OpId::Steps,
       OpClass::Host,
       3,
       3,
       1,
       {count_attr},
       infer_steps,
       "start, start + delta, ... up to, and without, limit; arguments: start, limit, delta.",
       "Scalars; the result is [count].",
       "Numbers of one dtype; the result has the same",
       "When run, a delta of 0.",
       {"count"}},
      {OpId::Sizes,
       OpClass::Host,
       1,
       1,
       1,
       {{"dims", AttrKind::DimList, std::nullopt,
         "a dim for each element, to which it gives its value"}},
       infer_sizes,
       "x itself, whose elements become dims.",
       "x: [number of dims]; the result is as x.",
       "i32 or i64",
       "When run, a negative element.",
       {"dims"}},
      {OpId::If,
       OpClass::Host,
       3,
       3,
       1,
       {{"dims", AttrKind::DimList, "[]",
         "the result's dims; those in which the sides differ are dims of their own, which get "
         "their values when one has run"}},
       infer_if,
       "One of two values. What only the other needs is not computed; arguments: condition, value "
       "if it holds, value if it does not.",
       "A scalar, and two values of one rank; the result is as these, with the dims that they "
       "share.",
       "bool, and any dtype, as the result",
       "Sides whose dims differ, without dims.",
       {"dims"}},
  };
}

}  // namespace dyn::graph
