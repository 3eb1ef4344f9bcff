// Convolution and pooling. dyn's windows slide over the axes before the channels, ONNX' windows
// over those after them: inputs and results are transposed, and the loader drops transposes that
// cancel.

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/pool_places.hpp"
#include "src/import/onnx/parts/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

void give_channels_first(NodeContext& node, ValueId y) { node.give(channels_first(node, y)); }

void convert_conv(NodeContext& node) {
  const std::vector<Dim> filters = node.type_of(1).dims, extents = extents_of(node);
  if (filters.size() != extents.size() + 2)
    node.fail(
        fmt::format("its filters have {} dims, its input {}", filters.size(), extents.size() + 2));
  const SlidingWindows windows = windows_of(node, filter_sizes(node, filters), extents);
  Integers perm(filters.size());
  std::iota(perm.begin(), perm.end() - 2, 2);
  perm[perm.size() - 2] = 1;
  perm.back() = 0;
  std::vector<graph::Attr> attrs = conv_attrs_of(node, windows, node.integer("group", 1));
  ValueId y = node.add("conv", {channels_last(node, node.value(0)), permuted_input(node, 1, perm)},
                       std::move(attrs));
  if (node.has(2)) y = node.add("add", {y, node.value(2)});
  give_channels_first(node, y);
}

/// With ceil_mode a last window may begin inside of the axis, or the padding before it, and end
/// beyond the padding after it.
void reach_over_end(NodeContext& node, SlidingWindows& windows, const std::vector<Dim>& extents) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Dim stride = node.dims().constant(windows.strides[i]),
              padded = windows.before[i] + extents[i];
    const Dim windows_up =
        floordiv(padded + windows.after[i] - windows.reach(i) + (windows.strides[i] - 1), stride) +
        1;
    const Dim count = min(windows_up, floordiv(padded - 1, stride) + 1);
    windows.after[i] =
        max((count - 1) * windows.strides[i] + windows.reach(i) - padded, node.dims().constant(0));
  }
}

void give_global(NodeContext& node, const char* reduction) {
  Integers axes(extents_of(node).size());
  std::iota(axes.begin(), axes.end(), 2);
  node.give(node.add(reduction, {node.value(0)}, {node.integer_list("axes", axes)}));
}

void convert_global_max_pool(NodeContext& node) { give_global(node, "reduce_max"); }

void convert_global_average_pool(NodeContext& node) { give_global(node, "reduce_mean"); }

bool is_unpadded(const SlidingWindows& windows) {
  const auto is_zero = [](Dim pad) { return pad.constant() == 0; };
  return std::ranges::all_of(windows.before, is_zero) &&
         std::ranges::all_of(windows.after, is_zero);
}

Integers pool_sizes(NodeContext& node) {
  const auto sizes = node.integers("kernel_shape");
  if (!sizes || sizes->empty()) node.fail("it needs kernel_shape");
  return list_of(node, "kernel_shape", sizes->size(), 1);
}

void convert_max_pool(NodeContext& node) {
  const std::vector<Dim> extents = extents_of(node);
  SlidingWindows windows = windows_of(node, pool_sizes(node), extents);
  if (!node.wants(1) && holds_all(node, windows, extents)) return give_global(node, "reduce_max");
  if (node.integer("ceil_mode", 0) != 0) reach_over_end(node, windows, extents);
  if (node.wants(1)) give_places(node, windows, extents, node.integer("storage_order", 0) == 0);
  give_channels_first(node, node.add("max_pool", {channels_last(node, node.value(0))},
                                     attrs_of(node, windows, true)));
}

/// Elements beyond the padding never count.
void convert_average_pool(NodeContext& node) {
  const std::vector<Dim> extents = extents_of(node);
  SlidingWindows windows = windows_of(node, pool_sizes(node), extents);
  const bool counts_padding = node.integer("count_include_pad", 0) != 0,
             rounds_up = node.integer("ceil_mode", 0) != 0;
  if ((!counts_padding || is_unpadded(windows)) && holds_all(node, windows, extents))
    return give_global(node, "reduce_mean");
  ValueId x = channels_last(node, node.value(0));
  if (counts_padding && rounds_up) {
    const Dim zero = node.dims().constant(0);
    std::vector<Dim> before{zero}, after{zero};
    before.insert(before.end(), windows.before.begin(), windows.before.end());
    after.insert(after.end(), windows.after.begin(), windows.after.end());
    before.push_back(zero);
    after.push_back(zero);
    x = node.add("pad", {x}, {node.dim_list("before", before), node.dim_list("after", after)});
    const std::vector<Dim> padded_after = windows.after;
    reach_over_end(node, windows, extents);
    for (std::size_t i = 0; i < extents.size(); ++i)
      windows.after[i] = max(windows.after[i] - padded_after[i], zero);
    windows.before.assign(extents.size(), zero);
  } else if (rounds_up) {
    reach_over_end(node, windows, extents);
  }
  std::vector<graph::Attr> attrs = attrs_of(node, windows, true);
  if (counts_padding && !rounds_up) attrs.push_back({"include_padding", true});
  give_channels_first(node, node.add("average_pool", {x}, std::move(attrs)));
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
  const std::vector<Dim> extents = extents_of(node);
  SlidingWindows windows = windows_of(node, pool_sizes(node), extents);
  if (node.integer("ceil_mode", 0) != 0) reach_over_end(node, windows, extents);
  std::vector<graph::Attr> attrs = attrs_of(node, windows, true);
  attrs.push_back({"include_padding", true});
  const auto taps = static_cast<double>(windows.taps());
  const auto sum = [&](ValueId powers) {
    return node.add("mul", {node.add("average_pool", {powers}, attrs), node.scalar(taps, powers)});
  };
  give_channels_first(node, norm(node, channels_last(node, node.value(0)), sum));
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
