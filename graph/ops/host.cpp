// Operators that a function of the host computes, over whole tensors whose sizes are known before.

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_topk(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_dtype(context, 0, number_dtypes);
  const TensorType& x = context.input(0);
  const auto axis = static_cast<std::size_t>(axis_attr(context, "axis", x.rank()));
  const Dim k = context.dim("k");
  require_at_least(context, k, 0, "k");
  context.require_less_equal(k, x.dims[axis], "k", dim_name(context, 0, static_cast<int>(axis)));
  outputs[0] = x;
  outputs[0].dims[axis] = k;
  outputs[1] = {DType::i64, outputs[0].dims};
}

void infer_cumsum(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_dtype(context, 0, number_dtypes);
  axis_attr(context, "axis", context.input(0).rank());
  outputs[0] = context.input(0);
}

void require_reduction(InferContext& context) {
  const std::string word = context.word("reduction");
  if (word != "none") require_dtype(context, 0, number_dtypes);
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (word == known) return;
  }
  context.fail(fmt::format("{}: reduction must be none, add, mul, max or min, not {}",
                           context.node().op->name, word));
}

void require_updates(InferContext& context) {
  require_dtype(context, 1, index_dtypes);
  require_reduction(context);
  if (context.input(2).dtype != context.input(0).dtype)
    context.fail(fmt::format("{}: {} is {}, but {} is {}", context.node().op->name,
                             input_name(context, 2), name_of(context.input(2).dtype),
                             input_name(context, 0), name_of(context.input(0).dtype)));
}

void infer_scatter_elements(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_updates(context);
  const TensorType data = context.input(0), indices = context.input(1), updates = context.input(2);
  const int axis = axis_attr(context, "axis", data.rank());
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}})
    require_rank(context, i, data.rank());
  for (int d = 0; d < data.rank(); ++d) {
    const auto at = static_cast<std::size_t>(d);
    context.require_equal(indices.dims[at], updates.dims[at], dim_name(context, 1, d),
                          dim_name(context, 2, d));
    if (d != axis)
      context.require_less_equal(indices.dims[at], data.dims[at], dim_name(context, 1, d),
                                 dim_name(context, 0, d));
  }
  outputs[0] = data;
}

void infer_scatter_nd(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_min_rank(context, 1, 1);
  require_updates(context);
  const TensorType data = context.input(0), indices = context.input(1), updates = context.input(2);
  const std::optional<std::int64_t> depth = indices.dims.back().constant();
  if (!depth || *depth > data.rank())
    context.fail(fmt::format(
        "scatter_nd: the last dim of {} is {}; it must be a number of axes of {}, which has {}",
        input_name(context, 1), to_string(indices.dims.back()), input_name(context, 0),
        data.rank()));
  std::vector<Dim> expected(indices.dims.begin(), indices.dims.end() - 1);
  expected.insert(expected.end(), data.dims.begin() + *depth, data.dims.end());
  require_rank(context, 2, static_cast<int>(expected.size()));
  for (std::size_t d = 0; d < expected.size(); ++d)
    context.require_equal(updates.dims[d], expected[d], dim_name(context, 2, static_cast<int>(d)),
                          fmt::format("scatter_nd's dim {}", d));
  outputs[0] = data;
}

void infer_count_ngrams(InferContext& context, std::vector<TensorType>& outputs) {
  constexpr DType items[] = {DType::i64};
  require_min_rank(context, 0, 1);
  require_dtype(context, 0, index_dtypes);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    require_dtype(context, i, items);
    require_rank(context, i, 1);
  }
  if (context.integer("shortest") < 1 || context.integer("skips") < 0)
    context.fail("count_ngrams: shortest must be at least 1, skips at least 0");
  std::int64_t length = context.integer("shortest"), grams = 0, elements = 0;
  for (const std::int64_t count : context.integers("counts")) {
    std::int64_t taken = 0;
    if (count < 0 || __builtin_mul_overflow(count, length++, &taken) ||
        __builtin_add_overflow(elements, taken, &elements) ||
        __builtin_add_overflow(grams, count, &grams))
      context.fail("count_ngrams: counts must be numbers of n-grams that fit 64 bits");
  }
  context.require_equal(context.input(1).dims[0], context.dims().constant(elements),
                        dim_name(context, 1, 0), "the items of all n-grams");
  context.require_equal(context.input(2).dims[0], context.dims().constant(grams),
                        dim_name(context, 2, 0), "the number of n-grams");
  require_at_least(context, context.dim("columns"), 0, "columns");
  outputs[0] = {DType::f32, context.input(0).dims};
  outputs[0].dims.back() = context.dim("columns");
}

void infer_det(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 2);
  require_dtype(context, 0, float_dtypes);
  const TensorType& x = context.input(0);
  context.require_equal(x.dims[x.dims.size() - 2], x.dims.back(),
                        dim_name(context, 0, x.rank() - 2), dim_name(context, 0, x.rank() - 1));
  outputs[0] = {x.dtype, {x.dims.begin(), x.dims.end() - 2}};
}

void infer_couple(InferContext& context, std::vector<TensorType>& outputs) {
  require_rank(context, 0, 2);
  require_dtype(context, 0, single_dtypes);
  const std::int64_t classes = context.integer("classes");
  constexpr std::int64_t most = 1 << 16;
  if (classes < 2 || classes > most)
    context.fail(fmt::format("couple: classes is {}; it must be 2 to {}", classes, most));
  const TensorType pairs = context.input(0);
  context.require_equal(pairs.dims[1], context.dims().constant(classes * (classes - 1) / 2),
                        dim_name(context, 0, 1), "the number of pairs of classes");
  outputs[0] = {pairs.dtype, {pairs.dims[0], context.dims().constant(classes)}};
}

const AttrDef reduction_attr{
    "reduction", AttrKind::Word, "none",
    "what becomes of an element and its updates: none (the last one), add, mul, max, min"};

}  // namespace

std::vector<OpDef> host_ops() {
  return {
      {OpId::Couple,
       OpClass::Host,
       1,
       1,
       1,
       {{"classes", AttrKind::Integer, std::nullopt, "how many, C"}},
       infer_couple,
       "Probabilities of classes from those of pairs of them: of pair (i, j), i < j, that it is i "
       "and not j. By the second method of Wu, Lin and Weng (2004), as LIBSVM stops it: after 100 "
       "rounds, or where all but 0.005 / C of each condition is met.",
       "x: [B, C * (C - 1) / 2], pairs in the order (0, 1), (0, 2), ..., (1, 2), ...; the result "
       "is "
       "[B, C].",
       "f32, f16 or bf16; the result has the same dtype",
       "Other than 2 to 65536 classes; another number of pairs."},
      {OpId::Topk,
       OpClass::Host,
       1,
       1,
       2,
       {{"k", AttrKind::Dim, std::nullopt, "how many"},
        {"axis", AttrKind::Integer, "-1", "the axis along which they are chosen"},
        {"largest", AttrKind::Boolean, "true", "the largest, or the smallest"}},
       infer_topk,
       "The k largest or smallest elements along an axis, sorted, of equal ones the first, and "
       "their places.",
       "x of any shape but a scalar; both results have k elements along the axis.",
       "x of any dtype that has an order; the first result has x's, the second is i64",
       "An axis outside of x; k beyond the axis."},
      {OpId::Cumsum,
       OpClass::Host,
       1,
       1,
       1,
       {{"axis", AttrKind::Integer, std::nullopt, "the axis along which is added up"},
        {"exclusive", AttrKind::Boolean, "false", "without the element itself"},
        {"reverse", AttrKind::Boolean, "false", "from the end"},
        {"product", AttrKind::Boolean, "false", "multiplied, not added up"}},
       infer_cumsum,
       "Sums, or products, of all elements up to each one along an axis.",
       "x of any shape but a scalar; the result has x's.",
       "Numbers; the result has the same dtype. Floats are added up, or multiplied, in f64",
       "An axis outside of x."},
      {OpId::ScatterElements,
       OpClass::Host,
       3,
       3,
       1,
       {{"axis", AttrKind::Integer, "0", "the axis of data that the indices choose from"},
        reduction_attr},
       infer_scatter_elements,
       "data with updates at the places that indices give along one axis; arguments: data, "
       "indices, updates.",
       "data of any shape but a scalar; indices and updates of one shape, at most as large as "
       "data's along the other axes.",
       "data of any dtype, as updates and the result; indices i32 or i64",
       "When run, an index outside of -N .. N - 1 (negative ones count from the end)."},
      {OpId::ScatterNd,
       OpClass::Host,
       3,
       3,
       1,
       {reduction_attr},
       infer_scatter_nd,
       "data with slices put at the places that rows of indices give; arguments: data, indices, "
       "updates.",
       "data: [d...], indices: [i..., K] with K axes of data, updates: [i..., d from K on...]; the "
       "result is as data.",
       "data of any dtype, as updates and the result; indices i32 or i64",
       "A K that is no constant, or beyond data's rank; when run, an index outside of data."},
      {OpId::CountNgrams,
       OpClass::Host,
       3,
       3,
       1,
       {{"shortest", AttrKind::Integer, "1", "the number of items of the shortest n-grams"},
        {"counts", AttrKind::IntegerList, std::nullopt,
         "how many n-grams there are of that length, of one more, ..."},
        {"skips", AttrKind::Integer, "0", "how many items may lie between two of an n-gram"},
        {"columns", AttrKind::Dim, std::nullopt, "the size of the result's last dim"}},
       infer_count_ngrams,
       "How often each n-gram occurs in each row, its items 1, 2, ... skips + 1 places apart, a "
       "single item once; arguments: x, items (of all n-grams, those of each length in ascending "
       "order), columns (the place in the result of each n-gram).",
       "x: [..., C], items: [sum of counts * length], columns: [sum of counts]; the result is "
       "[..., "
       "columns].",
       "x i32 or i64, items and columns i64; the result is f32",
       "A shortest below 1, skips below 0, counts that do not fit the arguments. A column outside "
       "of the result is not counted."},
      {OpId::Det,
       OpClass::Host,
       1,
       1,
       1,
       {},
       infer_det,
       "The determinants of square matrices, by elimination in f64.",
       "x: [..., N, N]; the result is [...].",
       "A float; the result has the same dtype",
       "Matrices that are not square."},
  };
}

}  // namespace dyn::graph
