// Operators whose elements come from computed places: gather, concat, pad, range.

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_gather(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  constexpr DType of_indices[] = {DType::i32, DType::i64};
  require_dtype(context, 1, of_indices);
  const TensorType &data = context.input(0), &indices = context.input(1);
  const int axis = axis_attr(context, "axis", data.rank());
  outputs[0].dtype = data.dtype;
  std::vector<Dim>& dims = outputs[0].dims;
  dims.assign(data.dims.begin(), data.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), data.dims.begin() + axis + 1, data.dims.end());
}

void infer_concat(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_same_dtype(context);
  const TensorType first = context.input(0);
  const int axis = axis_attr(context, "axis", first.rank());
  outputs[0] = first;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    require_rank(context, i, first.rank());
    const TensorType type = context.input(i);
    for (int d = 0; d < first.rank(); ++d) {
      const auto at = static_cast<std::size_t>(d);
      if (d == axis)
        outputs[0].dims[at] = outputs[0].dims[at] + type.dims[at];
      else
        context.require_equal(first.dims[at], type.dims[at], dim_name(context, 0, d),
                              dim_name(context, i, d));
    }
  }
}

void infer_pad(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType input = context.input(0);
  const std::vector<Dim> before = context.dim_list("before"), after = context.dim_list("after");
  if (before.size() != input.dims.size() || after.size() != input.dims.size())
    context.fail(fmt::format("pad: before and after need one entry for each dim of {}, which is {}",
                             input_name(context, 0), to_string(input)));
  outputs[0] = input;
  for (std::size_t i = 0; i < input.dims.size(); ++i) {
    require_at_least(context, before[i], 0, fmt::format("before (entry {})", i));
    require_at_least(context, after[i], 0, fmt::format("after (entry {})", i));
    outputs[0].dims[i] = before[i] + input.dims[i] + after[i];
  }
}

void infer_range(InferContext& context, std::vector<TensorType>& outputs) {
  const std::optional<DType> dtype = parse_dtype(context.word("dtype"));
  if (!dtype || std::ranges::find(number_dtypes, *dtype) == std::end(number_dtypes))
    context.fail(
        fmt::format("range: dtype must be that of a number, not {}", context.word("dtype")));
  const std::int64_t step = context.integer("step");
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min())
    context.fail(fmt::format("range: step must not be {}", step));
  const Dim start = context.dim("start"), end = context.dim("end");
  const Dim span = step > 0 ? end - start : start - end;
  const std::int64_t size = step > 0 ? step : -step;
  const Dim count = floordiv(span + (size - 1), context.dims().constant(size));
  outputs[0] = {*dtype, {max(count, context.dims().constant(0))}};
}

}  // namespace

std::vector<OpDef> indexed_ops() {
  return {
      {OpId::Gather,
       OpClass::Indexed,
       2,
       2,
       1,
       {{"axis", AttrKind::Integer, "0", "the axis of data that the indices choose from"}},
       infer_gather,
       "Slices of data along one axis, chosen by indices; arguments: data, indices.",
       "data: [a..., N, b...] with N at the axis, indices: [i...]; the result is [a..., i..., "
       "b...].",
       "data of any dtype, as the result; indices i32 or i64",
       "An axis outside of data; when run, an index outside of -N .. N - 1 (negative ones count "
       "from the end)."},
      {OpId::Concat,
       OpClass::Indexed,
       1,
       -1,
       1,
       {{"axis", AttrKind::Integer, std::nullopt,
         "the axis along which the tensors follow each other"}},
       infer_concat,
       "Tensors one after the other along one axis.",
       "Any number of tensors whose dims are equal except along the axis; there the result has the "
       "sum.",
       "Any, the same for all; the result has that dtype",
       "Ranks, dtypes or other dims that differ."},
      {OpId::Pad,
       OpClass::Indexed,
       1,
       1,
       1,
       {{"before", AttrKind::DimList, std::nullopt,
         "for each axis the number of elements put before"},
        {"after", AttrKind::DimList, std::nullopt,
         "for each axis the number of elements put after"},
        {"value", AttrKind::Float, "0",
         "the elements put there; as cast gives it in another dtype"}},
       infer_pad,
       "x surrounded by a constant.",
       "x of any shape; dim i of the result is before[i] + dim i + after[i].",
       "Any; the result has the same dtype",
       "Lists of another length than x's rank; negative numbers."},
      {OpId::Range,
       OpClass::Indexed,
       0,
       0,
       1,
       {{"start", AttrKind::Dim, "0", "the first element"},
        {"end", AttrKind::Dim, std::nullopt, "the bound that is not reached"},
        {"step", AttrKind::Integer, "1", "the distance of elements; may be negative"},
        {"dtype", AttrKind::Word, "i64", "of a number"}},
       infer_range,
       "start, start + step, ... up to, and without, end.",
       "The result is [max(ceil((end - start) / step), 0)].",
       "The result has the given dtype",
       "A step of 0; other dtypes."},
  };
}

}  // namespace dyn::graph
