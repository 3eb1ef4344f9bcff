// Reductions.

#include <algorithm>
#include <limits>

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

/// A reduction, with functions applied to each element before it and to its result.
struct Reduction {
  std::string_view onnx, dyn;
  enum class Before : std::uint8_t { Nothing, Abs, Square } before = Before::Nothing;
  enum class After : std::uint8_t { Nothing, Sqrt, Log } after = After::Nothing;

  constexpr Halves halves() const {
    return before == Before::Nothing && after == After::Nothing ? Halves::AsGiven : Halves::InF32;
  }
};
using Before = Reduction::Before;
using After = Reduction::After;
constexpr Reduction reductions[] = {
    {"ReduceSum", "reduce_sum"},
    {"ReduceMean", "reduce_mean"},
    {"ReduceMax", "reduce_max"},
    {"ReduceMin", "reduce_min"},
    {"ReduceProd", "reduce_prod"},
    {"ReduceL1", "reduce_sum", Before::Abs},
    {"ReduceL2", "reduce_sum", Before::Square, After::Sqrt},
    {"ReduceSumSquare", "reduce_sum", Before::Square},
    {"ReduceLogSum", "reduce_sum", Before::Nothing, After::Log},
};

/// Axes by the attribute or the input; empty: all, or none where the node says so.
std::vector<std::int64_t> axes_of(NodeContext& node, int rank) {
  std::vector<std::int64_t> axes = node.integers("axes", 1).value_or(std::vector<std::int64_t>{});
  for (std::int64_t& axis : axes) axis = node.axis(axis, rank);
  return axes;
}

bool reduces_nothing(NodeContext& node, const std::vector<std::int64_t>& axes) {
  return axes.empty() && node.integer("noop_with_empty_axes", 0) != 0;
}

ValueId reduce(NodeContext& node, std::string_view op, ValueId x,
               const std::vector<std::int64_t>& axes, bool keeps) {
  if (node.builder().type(x).rank() == 0) return x;
  return node.add(op, {x}, {node.integer_list("axes", axes), {"keepdims", keeps}});
}

/// Functions that reduce sizes.
struct SizeReduction {
  std::string_view onnx;
  Dim (*join)(Dim, Dim);
};
constexpr SizeReduction size_reductions[] = {{"ReduceSum", [](Dim a, Dim b) { return a + b; }},
                                             {"ReduceProd", [](Dim a, Dim b) { return a * b; }},
                                             {"ReduceMax", [](Dim a, Dim b) { return max(a, b); }},
                                             {"ReduceMin", [](Dim a, Dim b) { return min(a, b); }}};

/// False where the input is no list of sizes.
bool give_reduced_sizes(NodeContext& node) {
  const auto found =
      std::ranges::find(size_reductions, node.node().op_type(), &SizeReduction::onnx);
  const std::optional<KnownInts> sizes = node.ints(0);
  if (found == std::end(size_reductions) || !sizes || sizes->scalar || sizes->elements.empty() ||
      sizes->dtype == DType::boolean || reduces_nothing(node, axes_of(node, 1)))
    return false;
  Dim all = sizes->elements[0];
  for (std::size_t i = 1; i < sizes->elements.size(); ++i)
    all = found->join(all, sizes->elements[i]);
  node.give(KnownInts{sizes->dtype, node.integer("keepdims", 1) == 0, {all}});
  return true;
}

void convert_reduction(NodeContext& node) {
  if (give_reduced_sizes(node)) return;
  const Reduction& reduction =
      *std::ranges::find(reductions, std::string_view(node.node().op_type()), &Reduction::onnx);
  ValueId x = node.value(0);
  const std::vector<std::int64_t> axes = axes_of(node, node.type(0).rank());
  if (reduction.before == Before::Abs) x = node.add("abs", {x});
  if (reduction.before == Before::Square) x = node.add("mul", {x, x});
  if (!reduces_nothing(node, axes))
    x = reduce(node, reduction.dyn, x, axes, node.integer("keepdims", 1) != 0);
  if (reduction.after == After::Sqrt) x = node.add("sqrt", {x});
  if (reduction.after == After::Log) x = node.add("log", {x});
  if (x == node.value(0)) return node.give(node.operand(0));
  node.give(x);
}

/// 0 in place of infinities, which would give NaN where they are subtracted from themselves.
ValueId finite_or_zero(NodeContext& node, ValueId x) {
  const ValueId infinite = node.add(
      "equal", {node.add("abs", {x}), node.scalar(std::numeric_limits<double>::infinity(), x)});
  return node.add("where", {infinite, node.scalar(0, x), x});
}

/// The greatest element taken out first, so that no exponential overflows.
void convert_log_sum_exp(NodeContext& node) {
  const ValueId x = node.value(0);
  const std::vector<std::int64_t> axes = axes_of(node, node.type(0).rank());
  if (reduces_nothing(node, axes)) return node.give(node.operand(0));
  const bool keeps = node.integer("keepdims", 1) != 0;
  const ValueId greatest = finite_or_zero(node, reduce(node, "reduce_max", x, axes, true));
  const ValueId sum =
      reduce(node, "reduce_sum", node.add("exp", {node.add("sub", {x, greatest})}), axes, keeps);
  const ValueId added =
      keeps ? greatest : finite_or_zero(node, reduce(node, "reduce_max", x, axes, false));
  node.give(node.add("add", {node.add("log", {sum}), added}));
}

}  // namespace

Family reduction_operators() {
  Family family{{"ReduceLogSumExp", convert_log_sum_exp, Halves::InF32}};
  for (const Reduction& reduction : reductions)
    family.push_back({reduction.onnx, convert_reduction, reduction.halves()});
  return family;
}

}  // namespace dyn::onnx
