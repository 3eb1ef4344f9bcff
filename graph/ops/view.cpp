// Operators that only index their input in another way.

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "graph/dims/polynomial.hpp"
#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

/// x and divisor without their common factors. Where one of the factors is 0, the shape of an empty
/// tensor is free: any dim does.
void cancel(DimTable& table, Dim& x, Dim& divisor) {
  const Polynomial dividend = to_polynomial(x), by = to_polynomial(divisor);
  if (dividend.empty() || by.empty()) return;
  Term shared{1, {}};
  std::ranges::set_intersection(common_factor(dividend).atoms, common_factor(by).atoms,
                                std::back_inserter(shared.atoms),
                                [](Dim p, Dim q) { return compare(p, q) < 0; });
  if (shared.atoms.empty()) return;
  x = from_polynomial(table, divide_exactly(dividend, shared)) + 0;
  divisor = from_polynomial(table, divide_exactly(by, shared)) + 0;
}

/// x / divisor where that is a polynomial in dims, whatever their values.
std::optional<Dim> exact_quotient(DimTable& table, Dim x, Dim divisor) {
  const Polynomial by = to_polynomial(divisor);
  if (by.empty()) return std::nullopt;
  const Division division = divide(to_polynomial(x), by);
  if (!division.remainder.empty()) return std::nullopt;
  return from_polynomial(table, division.quotient) + 0;
}

/// The shape attribute, with its one -1 replaced by the dim that the input's elements leave.
std::vector<Dim> resolve_shape(InferContext& context, Dim elements) {
  std::vector<Dim> shape = context.dim_list("shape");
  std::optional<std::size_t> open;
  Dim known = context.dims().constant(1);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].constant() == -1) {
      if (open) context.fail("reshape: only one dim of shape may be -1");
      open = i;
      continue;
    }
    require_at_least(context, shape[i], 0, fmt::format("shape (dim {})", i));
    known = known * shape[i];
  }
  if (!open) return shape;
  cancel(context.dims(), elements, known);
  if (const std::optional<Dim> quotient = exact_quotient(context.dims(), elements, known)) {
    shape[*open] = *quotient;
    return shape;
  }
  const std::string what = fmt::format("the product of the given dims of {}", to_string(shape));
  require_at_least(context, known, 1, what);
  context.require_multiple(elements, known, input_name(context, 0) + "'s number of elements");
  shape[*open] = floordiv(elements, known);
  return shape;
}

void infer_reshape(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType input = context.input(0);
  const Dim elements = product(context.dims(), input.dims);
  const bool open =
      std::ranges::any_of(context.dim_list("shape"), [](Dim dim) { return dim.constant() == -1; });
  outputs[0] = {input.dtype, resolve_shape(context, elements)};
  if (!open)
    context.require_equal(elements, product(context.dims(), outputs[0].dims),
                          input_name(context, 0) + " (number of elements)",
                          "shape (number of elements)");
  for (const Dim dim : context.dim_list("not_one"))
    context.require_other_than(dim, 1, to_string(dim));
}

void infer_transpose(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType& input = context.input(0);
  const std::vector<int> perm = axes_attr(context, "perm", input.rank());
  if (static_cast<int>(perm.size()) != input.rank())
    context.fail(fmt::format("transpose: perm has {} entries, but {} is {}", perm.size(),
                             input_name(context, 0), to_string(input)));
  outputs[0].dtype = input.dtype;
  for (int axis : perm) outputs[0].dims.push_back(input.dims[static_cast<std::size_t>(axis)]);
}

void infer_expand(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType input = context.input(0);
  const std::vector<Dim> shape = context.dim_list("shape");
  if (input.dims.size() > shape.size())
    context.fail(fmt::format("expand: {} is {}, which has more dims than {}",
                             input_name(context, 0), to_string(input), to_string(shape)));
  const std::size_t skip = shape.size() - input.dims.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string what = fmt::format("shape (dim {})", i);
    require_at_least(context, shape[i], 0, what);
    if (i >= skip && input.dims[i - skip].constant() != 1)
      context.require_equal(input.dims[i - skip], shape[i],
                            dim_name(context, 0, static_cast<int>(i - skip)), what);
  }
  outputs[0] = {input.dtype, shape};
}

/// A start or end as the file gives it: a negative constant counts from the end.
Dim from_front(Dim position, Dim extent) {
  const std::optional<std::int64_t> constant = position.constant();
  return constant && *constant < 0 ? extent + position : position;
}

struct SliceAttrs {
  std::vector<int> axes;
  std::vector<Dim> starts, ends;
  std::vector<std::int64_t> steps;
};

SliceAttrs slice_attrs(const InferContext& context) {
  SliceAttrs attrs{axes_attr(context, "axes", context.input(0).rank()), context.dim_list("starts"),
                   context.dim_list("ends"), context.integers("steps")};
  const auto check = [&](std::string_view name, std::size_t size) {
    if (size != 0 && size != attrs.axes.size())
      context.fail(
          fmt::format("slice: {} has {} entries, but axes has {}", name, size, attrs.axes.size()));
  };
  check("starts", attrs.starts.size());
  check("ends", attrs.ends.size());
  check("steps", attrs.steps.size());
  return attrs;
}

/// The dim that one sliced axis gets.
Dim sliced_dim(InferContext& context, const SliceAttrs& attrs, std::size_t i) {
  const int axis = attrs.axes[i];
  const Dim extent = context.input(0).dims[static_cast<std::size_t>(axis)];
  const std::int64_t step = attrs.steps.empty() ? 1 : attrs.steps[i];
  if (step == -1 && attrs.starts.empty() && attrs.ends.empty()) return extent;
  if (step < 1)
    context.fail(fmt::format(
        "slice: step {} for axis {}: a step must be at least 1, or -1 without starts and ends, "
        "which reverses whole axes",
        step, axis));
  const std::string what = dim_name(context, 0, axis);
  const Dim start =
      attrs.starts.empty() ? context.dims().constant(0) : from_front(attrs.starts[i], extent);
  const Dim end = attrs.ends.empty() ? extent : from_front(attrs.ends[i], extent);
  require_at_least(context, start, 0, "start on " + what);
  context.require_less_equal(start, end, "start on " + what, "end on " + what);
  context.require_less_equal(end, extent, "end on " + what, what);
  return floordiv(end - start + (step - 1), context.dims().constant(step));
}

void infer_slice(InferContext& context, std::vector<TensorType>& outputs) {
  const SliceAttrs attrs = slice_attrs(context);
  outputs[0] = context.input(0);
  for (std::size_t i = 0; i < attrs.axes.size(); ++i)
    outputs[0].dims[static_cast<std::size_t>(attrs.axes[i])] = sliced_dim(context, attrs, i);
}

void infer_split(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType input = context.input(0);
  require_min_rank(context, 0, 1);
  const int axis = axis_attr(context, "axis", input.rank());
  const std::vector<Dim> sizes = context.dim_list("sizes");
  if (sizes.size() != outputs.size())
    context.fail(fmt::format("split: {} sizes for {} results", sizes.size(), outputs.size()));
  Dim total = context.dims().constant(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    require_at_least(context, sizes[i], 0, fmt::format("sizes (entry {})", i));
    total = total + sizes[i];
    outputs[i] = input;
    outputs[i].dims[static_cast<std::size_t>(axis)] = sizes[i];
  }
  context.require_equal(total, input.dims[static_cast<std::size_t>(axis)], "the sum of sizes",
                        dim_name(context, 0, axis));
}

constexpr const char* any_dtype = "Any; the result has the same dtype";

}  // namespace

std::vector<OpDef> view_ops() {
  return {
      {OpId::Reshape,
       OpClass::View,
       1,
       1,
       1,
       {{"shape", AttrKind::DimList, std::nullopt,
         "the new dims; one may be -1, for what the others leave"},
        {"not_one", AttrKind::DimList, "[]",
         "sizes that must not be 1: a reshape that takes all dims of 1 away would take these too"}},
       infer_reshape,
       "The same elements, in row-major order, under another shape.",
       "x of any shape; the result has the given one.",
       any_dtype,
       "Another number of elements; more than one -1; -1 where the other dims have a product of "
       "0; a size of 1 that must be none."},
      {OpId::Transpose,
       OpClass::View,
       1,
       1,
       1,
       {{"perm", AttrKind::IntegerList, std::nullopt, "for each axis of the result the axis of x"}},
       infer_transpose,
       "The axes in another order.",
       "x of any shape; dim i of the result is dim perm[i] of x.",
       any_dtype,
       "perm is not a permutation of x's axes."},
      {OpId::Expand,
       OpClass::View,
       1,
       1,
       1,
       {{"shape", AttrKind::DimList, std::nullopt, "the new dims"}},
       infer_expand,
       "Repeats dims of 1, and adds dims on the left.",
       "x, whose dims, aligned at the right, are 1 or equal to the shape's; the result has the "
       "given shape.",
       any_dtype,
       "A dim of x that is neither 1 nor the shape's; more dims than the shape has."},
      {OpId::Slice,
       OpClass::View,
       1,
       1,
       1,
       {{"axes", AttrKind::IntegerList, std::nullopt, "the axes to slice"},
        {"starts", AttrKind::DimList, "[]",
         "for each axis the first index; a negative constant counts from the end; "
         "[]: 0 everywhere"},
        {"ends", AttrKind::DimList, "[]",
         "for each axis the index after the last; a negative constant counts from "
         "the end; []: the dim"},
        {"steps", AttrKind::IntegerList, "[]",
         "for each axis the distance of indices; []: 1 everywhere; -1 without "
         "starts and ends reverses the axis"}},
       infer_slice,
       "The elements at start, start + step, ... below end, along some axes.",
       "x of any shape; a sliced axis gets ceil((end - start) / step).",
       any_dtype,
       "Not 0 <= start <= end <= dim; a step of 0 or below -1; lists of other lengths than axes."},
      {OpId::Split,
       OpClass::Compound,
       1,
       1,
       -1,
       {{"axis", AttrKind::Integer, std::nullopt, "the axis to split"},
        {"sizes", AttrKind::DimList, std::nullopt, "for each result its size along the axis"}},
       infer_split,
       "Slices that follow each other along one axis; as many results as sizes.",
       "x of rank 1 or more; result i has sizes[i] along the axis, else the shape of x.",
       any_dtype,
       "Sizes whose sum is not the dim; another number of results than of sizes."},
  };
}

}  // namespace dyn::graph
