// Operators that change a state.

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_append(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_same_dtype(context);
  const TensorType state = context.input(0), x = context.input(1);
  require_rank(context, 1, state.rank());
  const int axis = axis_attr(context, "axis", state.rank());
  for (int d = 0; d < state.rank(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (d != axis)
      context.require_equal(state.dims[i], x.dims[i], dim_name(context, 0, d),
                            dim_name(context, 1, d));
  }
  const auto along = static_cast<std::size_t>(axis);
  const Dim at = context.dim("at");
  require_at_least(context, at, 0, "at");
  context.require_less_equal(at + x.dims[along], state.dims[along], "the length after appending",
                             "the capacity of " + input_name(context, 0));
  outputs[0] = context.input(0);
}

}  // namespace

std::vector<OpDef> state_ops() {
  return {
      {OpId::Append,
       OpClass::View,
       2,
       2,
       1,
       {{"at", AttrKind::Dim, std::nullopt,
         "the position at which x begins; where it is one dim that no input has, the session's "
         "length"},
        {"axis", AttrKind::Integer, "-2", "the axis of positions"}},
       infer_append,
       "The state with x written in place, at positions at, at + 1, ...; arguments: a state, x.",
       "k: a state, x: the same dims but for the axis; the result has the shape of k.",
       "Any, the same for both; the result has it too",
       "A first argument that is no state, or a state that another operator takes as well; other "
       "dims than the axis that differ; when run, "
       "at + x's positions beyond k's dim."},
  };
}

}  // namespace dyn::graph
