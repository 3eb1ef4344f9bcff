// Ensembles of decision trees, which a function of the host walks.

#include <algorithm>

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

constexpr DType walked_dtypes[] = {DType::f32, DType::f64};
constexpr DType node_dtype[] = {DType::i32};
constexpr std::size_t x_input = 0, roots_input = 1, features_input = 2, thresholds_input = 3,
                      children_input = 4, targets_input = 5, weights_input = 6;

/// The trees are laid out anew when they are first walked, and once.
void require_known(const InferContext& context, std::size_t input) {
  if (context.module().value(context.node().inputs[input]).kind != ValueKind::Weight)
    context.fail(fmt::format("tree_ensemble: {} is computed or an input; it must be a weight",
                             input_name(context, input)));
}

/// x: [B, F], roots: [T], features and thresholds: [N], children: [N, 2], targets and weights: [E].
void infer_tree_ensemble(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, x_input, walked_dtypes);
  const DType computed[] = {context.input(x_input).dtype};
  for (std::size_t i = roots_input; i <= weights_input; ++i) {
    const bool holds_numbers = i == thresholds_input || i == weights_input;
    require_dtype(context, i, holds_numbers ? std::span<const DType>(computed) : node_dtype);
    require_rank(context, i, i == children_input ? 2 : 1);
    require_known(context, i);
  }
  require_rank(context, x_input, 2);
  const Dim nodes = context.input(features_input).dims[0],
            weights = context.input(weights_input).dims[0];
  const auto equal = [&](std::size_t input, int axis, Dim expected, const char* what) {
    context.require_equal(context.input(input).dims[static_cast<std::size_t>(axis)], expected,
                          dim_name(context, input, axis), what);
  };
  equal(thresholds_input, 0, nodes, "the number of nodes");
  equal(children_input, 0, nodes, "the number of nodes");
  equal(children_input, 1, context.dims().constant(2), "the number of children");
  equal(targets_input, 0, weights, "the number of weights");
  const std::int64_t results = context.integer("results");
  if (results < 1)
    context.fail(fmt::format("tree_ensemble: results is {}; it must be 1 or more", results));
  const std::string aggregate = context.word("aggregate");
  if (aggregate != "sum" && aggregate != "min" && aggregate != "max")
    context.fail(
        fmt::format("tree_ensemble: aggregate must be sum, min or max, not {}", aggregate));
  outputs[0] = {computed[0], {context.input(x_input).dims[0], context.dims().constant(results)}};
}

}  // namespace

std::vector<OpDef> tree_ops() {
  return {
      {OpId::TreeEnsemble,
       OpClass::Host,
       7,
       7,
       1,
       {{"results", AttrKind::Integer, std::nullopt, "the number of results of a row"},
        {"aggregate", AttrKind::Word, "sum",
         "what becomes of the weights that the trees give one result: sum, min or max"}},
       infer_tree_ensemble,
       "Walks each tree for each row of x, and joins the weights of the leaves; arguments: x, "
       "roots, features, thresholds, children, targets, weights. Node i with a feature f of 0 or "
       "more asks whether x[f] <= thresholds[i], with a feature of -2 - f whether -x[f] <= "
       "thresholds[i], and goes on at children[i, 1] if so, at children[i, 0] if not, as with a "
       "NaN. A node whose feature is -1 is a leaf: it gives weights[e] to the result targets[e] "
       "for "
       "each e from children[i, 0] to children[i, 1] - 1. A result that no leaf gives a weight is "
       "0. The trees are added up in their order, in x's dtype.",
       "x: [B, F], roots: [T], features and thresholds: [N], children: [N, 2], targets and "
       "weights: [E]; the result is [B, results].",
       "x, thresholds, weights and the result f32, or all f64; roots, features, children, targets "
       "i32",
       "Trees that are no weights of the model. When run: a child that does not stand after its "
       "parent, a node of two trees, and features, roots, leaves and targets outside of what they "
       "point to."},
  };
}

}  // namespace dyn::graph
