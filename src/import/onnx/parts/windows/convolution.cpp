#include "src/import/onnx/parts/windows/convolution.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integers/dequantized_product.hpp"
#include "src/import/onnx/parts/windows/pool_places.hpp"

namespace dyn::onnx {

TensorExpr to_channels_last(const TensorExpr& x, Channels channels) {
  return channels == Channels::Last ? x : TensorExpr{x.node(), channels_last(x.node(), x.id())};
}

TensorExpr from_channels_last(const TensorExpr& y, Channels channels) {
  return channels == Channels::Last ? y : TensorExpr{y.node(), channels_first(y.node(), y.id())};
}

Integers filter_order(std::size_t rank) {
  Integers perm(rank);
  std::iota(perm.begin(), perm.end() - 2, 2);
  perm[rank - 2] = 1;
  perm.back() = 0;
  return perm;
}

SlidingWindows filter_windows(NodeContext& node, std::size_t filters, Channels channels) {
  const Dims dims = node.type_of(filters).dims, extents = extents_of(node, channels);
  if (dims.size() != extents.size() + 2)
    node.fail(
        fmt::format("its filters have {} dims, its input {}", dims.size(), extents.size() + 2));
  return windows_of(node, filter_sizes(node, dims), extents);
}

TensorExpr convolution(NodeContext& node, Channels channels) {
  if (const std::optional<TensorExpr> y = dequantized_conv(node, channels)) return *y;
  const SlidingWindows windows = filter_windows(node, 1, channels);
  std::vector<graph::Attr> attrs = conv_attrs_of(node, windows, node.integer("group", 1));
  const Integers order = filter_order(windows.sizes.size() + 2);
  const TensorExpr x = to_channels_last(input_expr(node, 0), channels),
                   filters{node, permuted_input(node, 1, order)};
  TensorExpr y = apply("conv", {x, filters}, std::move(attrs));
  if (node.has(2)) y = y + input_expr(node, 2);
  return from_channels_last(y, channels);
}

SlidingWindows pool_windows(NodeContext& node, Channels channels) {
  const auto sizes = node.integers("kernel_shape");
  if (!sizes || sizes->empty()) node.fail("it needs kernel_shape");
  return windows_of(node, list_of(node, "kernel_shape", sizes->size(), 1),
                    extents_of(node, channels));
}

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

TensorExpr global_pool(std::string_view reduction, const TensorExpr& x, Channels channels) {
  Integers axes(static_cast<std::size_t>(x.rank() - 2));
  std::iota(axes.begin(), axes.end(), channels == Channels::Last ? 1 : 2);
  return apply(reduction, {x}, {x.node().integer_list("axes", axes)});
}

TensorExpr max_pool(NodeContext& node, const TensorExpr& x, Channels channels) {
  const std::vector<Dim> extents = extents_of(node, channels);
  SlidingWindows windows = pool_windows(node, channels);
  if (!node.wants(1) && holds_all(node, windows, extents))
    return global_pool("reduce_max", x, channels);
  if (node.integer("ceil_mode", 0) != 0) reach_over_end(node, windows, extents);
  if (node.wants(1)) give_places(node, windows, extents, node.integer("storage_order", 0) == 0);
  return from_channels_last(
      apply("max_pool", {to_channels_last(x, channels)}, attrs_of(node, windows, true)), channels);
}

namespace {

bool is_unpadded(const SlidingWindows& windows) {
  const auto is_zero = [](Dim pad) { return pad.constant() == 0; };
  return std::ranges::all_of(windows.before, is_zero) &&
         std::ranges::all_of(windows.after, is_zero);
}

/// x, channels last, with zeros in place of the windows' padding, which counts; what lies beyond it
/// does not.
TensorExpr padded(const TensorExpr& x, SlidingWindows& windows, const std::vector<Dim>& extents) {
  NodeContext& node = x.node();
  const Dim zero = node.dims().constant(0);
  std::vector<Dim> before{zero}, after{zero};
  before.insert(before.end(), windows.before.begin(), windows.before.end());
  after.insert(after.end(), windows.after.begin(), windows.after.end());
  before.push_back(zero);
  after.push_back(zero);
  const std::vector<Dim> padded_after = windows.after;
  reach_over_end(node, windows, extents);
  for (std::size_t i = 0; i < extents.size(); ++i)
    windows.after[i] = max(windows.after[i] - padded_after[i], zero);
  windows.before.assign(extents.size(), zero);
  return apply("pad", {x}, {node.dim_list("before", before), node.dim_list("after", after)});
}

}  // namespace

TensorExpr average_pool(NodeContext& node, const TensorExpr& x, Channels channels) {
  const std::vector<Dim> extents = extents_of(node, channels);
  SlidingWindows windows = pool_windows(node, channels);
  const bool counts_padding = node.integer("count_include_pad", 0) != 0,
             rounds_up = node.integer("ceil_mode", 0) != 0;
  if ((!counts_padding || is_unpadded(windows)) && holds_all(node, windows, extents))
    return global_pool("reduce_mean", x, channels);
  TensorExpr image = to_channels_last(x, channels);
  if (counts_padding && rounds_up)
    image = padded(image, windows, extents);
  else if (rounds_up)
    reach_over_end(node, windows, extents);
  std::vector<graph::Attr> attrs = attrs_of(node, windows, true);
  if (counts_padding && !rounds_up) attrs.push_back({"include_padding", true});
  return from_channels_last(apply("average_pool", {image}, std::move(attrs)), channels);
}

}  // namespace dyn::onnx
