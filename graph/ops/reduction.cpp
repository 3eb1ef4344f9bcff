// Reductions over any axes.

#include <algorithm>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_reduction(InferContext& context, std::vector<TensorType>& outputs) {
  const TensorType& input = context.input(0);
  const std::vector<int> axes = axes_attr(context, "axes", input.rank());
  outputs[0].dtype = input.dtype;
  for (int axis = 0; axis < input.rank(); ++axis) {
    const bool reduced = axes.empty() || std::ranges::find(axes, axis) != axes.end();
    if (!reduced) outputs[0].dims.push_back(input.dims[static_cast<std::size_t>(axis)]);
    if (reduced && context.boolean("keepdims"))
      outputs[0].dims.push_back(context.dims().constant(1));
  }
}

constexpr InferFunction number_reduction = infer_for<infer_reduction, number_dtypes>;
constexpr InferFunction float_reduction = infer_for<infer_reduction, float_dtypes>;

constexpr const char* any_to_any = "Any; the result has the same dtype";

struct Reduction {
  OpId id;
  InferFunction infer;
  const char* dtypes;
  const char* summary;
};

const Reduction reductions[] = {
    {OpId::ReduceSum, number_reduction, number_to_number,
     "Sum over the axes, integers wrap around; 0 over no elements."},
    {OpId::ReduceMean, float_reduction, float_to_float,
     "Mean over the axes; NaN over no elements."},
    {OpId::ReduceMax, infer_reduction, any_to_any,
     "Greatest element over the axes, NaN where one is; over no elements -inf, or the least "
     "integer."},
    {OpId::ReduceMin, infer_reduction, any_to_any,
     "Least element over the axes, NaN where one is; over no elements inf, or the greatest "
     "integer."},
    {OpId::ReduceProd, number_reduction, number_to_number,
     "Product over the axes, integers wrap around; 1 over no elements."},
};

}  // namespace

std::vector<OpDef> reduction_ops() {
  std::vector<OpDef> ops;
  for (const Reduction& op : reductions)
    ops.push_back(
        {op.id,
         OpClass::Reduction,
         1,
         1,
         1,
         {{"axes", AttrKind::IntegerList, "[]",
           "axes to reduce; negative ones count from the end; [] for all"},
          {"keepdims", AttrKind::Boolean, "true", "whether reduced axes stay, as dims of 1"}},
         op.infer,
         op.summary,
         "x of any shape; the result lacks the reduced axes, or has 1 there with keepdims.",
         op.dtypes,
         "An axis outside of x or named twice; other dtypes."});
  return ops;
}

}  // namespace dyn::graph
