// matmul and attention.

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/ir/scalars.hpp"
#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_matmul(InferContext& context, std::vector<TensorType>& outputs) {
  const DType dtype = product_dtype(context, number_dtypes);
  require_min_rank(context, 0, 2);
  require_min_rank(context, 1, 2);
  const TensorType a = context.input(0), b = context.input(1);
  const int a_row = a.rank() - 2, b_row = b.rank() - 2;
  const int m = context.boolean("transpose_a") ? a_row + 1 : a_row, a_k = 2 * a_row + 1 - m;
  const int n = context.boolean("transpose_b") ? b_row : b_row + 1, b_k = 2 * b_row + 1 - n;
  const auto at = [](const TensorType& type, int axis) {
    return type.dims[static_cast<std::size_t>(axis)];
  };
  context.require_equal(at(a, a_k), at(b, b_k), dim_name(context, 0, a_k),
                        dim_name(context, 1, b_k));

  const int batch = std::max(a_row, b_row);
  outputs[0].dtype = dtype;
  for (int i = 0; i < batch; ++i) {
    const int in_a = i - (batch - a_row), in_b = i - (batch - b_row);
    if (in_a < 0 || in_b < 0)
      outputs[0].dims.push_back(in_a < 0 ? at(b, in_b) : at(a, in_a));
    else
      outputs[0].dims.push_back(context.broadcast(
          at(a, in_a), at(b, in_b), dim_name(context, 0, in_a), dim_name(context, 1, in_b)));
  }
  if (std::ranges::find(single_dtypes, dtype) == std::end(single_dtypes) && batch + 2 >= max_rank)
    context.fail(fmt::format("matmul of {} has a result of at most {} dims, not {}", name_of(dtype),
                             max_rank - 1, batch + 2));
  outputs[0].dims.push_back(at(a, m));
  outputs[0].dims.push_back(at(b, n));
}

/// The mask may be smaller than the scores, never larger.
void check_mask(InferContext& context, std::size_t index, const std::vector<Dim>& scores) {
  const TensorType mask = context.input(index);
  if (mask.rank() > static_cast<int>(scores.size()))
    context.fail(fmt::format("attention: the mask {} is {}, which has more dims than the scores {}",
                             input_name(context, index), to_string(mask), to_string(scores)));
  const std::size_t skip = scores.size() - mask.dims.size();
  for (std::size_t i = 0; i < mask.dims.size(); ++i) {
    const std::string name = dim_name(context, index, static_cast<int>(i)),
                      score_name = fmt::format("scores (dim {})", skip + i);
    const Dim joint = context.broadcast(mask.dims[i], scores[skip + i], name, score_name);
    context.require_equal(joint, scores[skip + i], name, score_name);
  }
}

/// Keys and values of 16 bits beside f32, or of i8 with a scale for each row; else all are alike.
void check_attention_dtypes(InferContext& context, std::size_t mask) {
  require_dtype(context, 0, single_dtypes);
  const auto require_like_queries = [&](std::size_t index) {
    if (context.input(index).dtype != context.input(0).dtype)
      context.fail(fmt::format("attention needs {} to be {}, but it is {}; use cast",
                               input_name(context, index), name_of(context.input(0).dtype),
                               name_of(context.input(index).dtype)));
  };
  const bool scaled = context.boolean("scales");
  for (const std::size_t index : {std::size_t{1}, std::size_t{2}}) {
    const DType dtype = context.input(index).dtype;
    if (scaled) {
      require_dtype(context, index, std::array{DType::i8});
    } else if (context.input(0).dtype != DType::f32 || !is_half(dtype)) {
      require_like_queries(index);
    }
  }
  for (std::size_t index = 3; index < context.input_count(); ++index) require_like_queries(index);
  if (scaled && context.input(0).dtype != DType::f32)
    context.fail("attention with scales needs q of f32");
  if (context.input_count() > mask + 1 || context.input_count() < mask)
    context.fail(fmt::format("attention with scales={} takes {} arguments, and perhaps a mask",
                             scaled, mask));
}

void infer_attention(InferContext& context, std::vector<TensorType>& outputs) {
  const bool scaled = context.boolean("scales");
  const std::size_t mask = scaled ? 5 : 3;
  check_attention_dtypes(context, mask);
  require_min_rank(context, 0, 2);
  const TensorType q = context.input(0);
  for (std::size_t i : {std::size_t{1}, std::size_t{2}}) require_rank(context, i, q.rank());
  const TensorType k = context.input(1), v = context.input(2);
  const std::size_t row = q.dims.size() - 2, column = row + 1;
  const auto equal = [&](std::size_t a, std::size_t a_axis, std::size_t b, std::size_t b_axis) {
    context.require_equal(context.input(a).dims[a_axis], context.input(b).dims[b_axis],
                          dim_name(context, a, static_cast<int>(a_axis)),
                          dim_name(context, b, static_cast<int>(b_axis)));
  };
  for (std::size_t i = 0; i < row; ++i) {
    equal(0, i, 1, i);
    equal(0, i, 2, i);
  }
  equal(0, column, 1, column);
  equal(1, row, 2, row);
  if (context.boolean("causal"))
    context.require_less_equal(q.dims[row], k.dims[row],
                               dim_name(context, 0, static_cast<int>(row)),
                               dim_name(context, 1, static_cast<int>(row)));
  for (std::size_t scales = 3; scales < mask; ++scales) {
    require_rank(context, scales, q.rank());
    for (std::size_t i = 0; i <= row; ++i) equal(1, i, scales, i);
    context.require_equal(context.input(scales).dims[column], context.dims().constant(1),
                          dim_name(context, scales, static_cast<int>(column)),
                          "a scale for each row");
  }
  if (context.input_count() > mask) {
    std::vector<Dim> scores(q.dims.begin(), q.dims.end() - 1);
    scores.push_back(k.dims[row]);
    check_mask(context, mask, scores);
  }
  outputs[0] = q;
  outputs[0].dims[column] = v.dims[column];
}

}  // namespace

std::vector<OpDef> contraction_ops() {
  return {
      {OpId::Matmul,
       OpClass::Contraction,
       2,
       2,
       1,
       {{"transpose_a", AttrKind::Boolean, "false", "whether a is [..., K, M]"},
        {"transpose_b", AttrKind::Boolean, "false", "whether b is [..., N, K]"},
        zero_attr()},
       infer_matmul,
       "Matrix product over the last two axes, for each index of the others.",
       "a: [..., M, K], b: [..., K, N]; the result is [..., M, N], leading dims broadcast as numpy "
       "does.",
       "A number, the same on both sides, and of the result; integers wrap around. Or a of u8 or "
       "i16 "
       "and b of i8: the result is i32; or a of u8 or i16, less zero, and b of f32, or a of bf16 "
       "and b of f32, which is rounded to bf16 where it is not kept in codes: the result is f32",
       "Ranks below 2; different K; leading dims that do not broadcast; of f64 and integers "
       "results of 8 dims."},
      {OpId::Attention,
       OpClass::Attention,
       3,
       6,
       1,
       {{"scale", AttrKind::Float, "0", "factor of the scores; 0: 1 / sqrt(D)"},
        {"causal", AttrKind::Boolean, "false", "whether query i sees only keys j <= i + Skv - Sq"},
        {"scales", AttrKind::Boolean, "false",
         "whether k and v are i8, each row times its own scale"}},
       infer_attention,
       "softmax(q * k^T * scale + mask) * v; arguments: q, k, v, the scales of k and "
       "of v with scales=true, and optionally an additive mask.",
       "q: [..., H, Sq, D], k: [..., H, Skv, D], v: [..., H, Skv, Dv], scales: [..., H, Skv, 1], "
       "mask: broadcast to [..., H, Sq, Skv]; the result is [..., H, Sq, Dv].",
       "f32, f16 or bf16, all alike; the result has the same dtype. Or q, scales and mask of f32, "
       "and "
       "k and v each of f32, f16 or bf16, or both of i8 with scales: the result is f32",
       "Ranks that differ; leading dims, D or Skv that differ; a mask larger than the scores; "
       "causal with Sq > Skv."},
  };
}

}  // namespace dyn::graph
