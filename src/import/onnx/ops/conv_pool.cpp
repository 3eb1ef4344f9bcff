// Convolution and pooling.

#include <functional>
#include <numeric>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

void convert_conv(NodeContext& node) { node.give(convolution(node, Channels::First).id()); }

void give_global(NodeContext& node, std::string_view reduction) {
  extents_of(node);
  node.give(global_pool(reduction, input_expr(node, 0), Channels::First).id());
}

void convert_global_max_pool(NodeContext& node) { give_global(node, "reduce_max"); }

void convert_global_average_pool(NodeContext& node) { give_global(node, "reduce_mean"); }

void convert_max_pool(NodeContext& node) {
  node.give(max_pool(node, input_expr(node, 0), Channels::First).id());
}

/// Elements beyond the padding never count.
void convert_average_pool(NodeContext& node) {
  node.give(average_pool(node, input_expr(node, 0), Channels::First).id());
}

/// The p-th root of the sum of p-th powers.
ValueId norm(NodeContext& node, ValueId x, const std::function<ValueId(ValueId)>& sum) {
  const double p =
      node.opset() == 1 ? node.number("p", 2) : static_cast<double>(node.integer("p", 2));
  if (p < 1) node.fail("p must be at least 1");
  const ValueId total = sum(node.add("pow", {node.add("abs", {x}), node.scalar(p, x)}));
  return node.add("pow", {total, node.scalar(1 / p, x)});
}

void convert_lp_pool(NodeContext& node) {
  SlidingWindows windows = pool_windows(node, Channels::First);
  if (node.integer("ceil_mode", 0) != 0) reach_over_end(node, windows, extents_of(node));
  std::vector<graph::Attr> attrs = attrs_of(node, windows, true);
  attrs.push_back({"include_padding", true});
  const auto taps = static_cast<double>(windows.taps());
  const auto sum = [&](ValueId powers) {
    return node.add("mul", {node.add("average_pool", {powers}, attrs), node.scalar(taps, powers)});
  };
  node.give(channels_first(node, norm(node, channels_last(node, node.value(0)), sum)));
}

void convert_global_lp_pool(NodeContext& node) {
  Integers axes(extents_of(node).size());
  std::iota(axes.begin(), axes.end(), 2);
  node.give(norm(node, node.value(0), [&](ValueId powers) {
    return node.add("reduce_sum", {powers}, {node.integer_list("axes", axes)});
  }));
}

/// x / (bias + alpha / size * sum of squares of the channels around)^beta.
void convert_lrn(NodeContext& node) {
  const std::int64_t size = node.integer("size", 0);
  if (size < 1) node.fail("size must be at least 1");
  extents_of(node);
  const ValueId x = node.value(0);
  const std::int64_t before = (size - 1) / 2;
  const ValueId squares =
      node.add("windows", {node.add("mul", {x, x})},
               {node.integer_list("axes", Integers{1}), node.integer_list("sizes", Integers{size}),
                node.integer_list("before", Integers{before}),
                node.integer_list("after", Integers{size - 1 - before})});
  const ValueId sum = node.add("reduce_sum", {squares},
                               {node.integer_list("axes", Integers{2}), {"keepdims", false}});
  const double alpha = node.number("alpha", 1e-4) / static_cast<double>(size);
  const ValueId base = node.add("add", {node.add("mul", {sum, node.scalar(alpha, x)}),
                                        node.scalar(node.number("bias", 1), x)});
  node.give(
      node.add("div", {x, node.add("pow", {base, node.scalar(node.number("beta", 0.75), x)})}));
}

}  // namespace

Family conv_pool_operators() {
  return {{"Conv", convert_conv},
          {"MaxPool", convert_max_pool},
          {"AveragePool", convert_average_pool},
          {"GlobalAveragePool", convert_global_average_pool},
          {"GlobalMaxPool", convert_global_max_pool},
          {"LpPool", convert_lp_pool, Halves::InF32},
          {"GlobalLpPool", convert_global_lp_pool, Halves::InF32},
          {"LRN", convert_lrn, Halves::InF32}};
}

}  // namespace dyn::onnx
