#pragma once
// Convolution and pooling. dyn's windows slide over the axes before the channels: inputs and
// results whose channels stand behind the batch are transposed, and the loader drops transposes
// that cancel.

#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {

/// x with its channels last, and a result with channels last as `channels` says.
TensorExpr to_channels_last(const TensorExpr& x, Channels channels);
TensorExpr from_channels_last(const TensorExpr& y, Channels channels);

/// [O, C, sizes...] to [sizes..., C, O], as `conv` has filters.
Integers filter_order(std::size_t rank);

/// The windows of the node's filters, which are input `filters`.
SlidingWindows filter_windows(NodeContext& node, std::size_t filters, Channels channels);

/// The convolution that the node's attributes and inputs describe: x, filters [O, C, sizes...],
/// optionally a bias [O].
TensorExpr convolution(NodeContext& node, Channels channels);

/// The windows of the node's kernel_shape on its first input.
SlidingWindows pool_windows(NodeContext& node, Channels channels);
/// With ceil_mode a last window may begin inside of the axis, or the padding before it, and end
/// beyond the padding after it.
void reach_over_end(NodeContext& node, SlidingWindows& windows, const std::vector<Dim>& extents);

/// Pools x, which has the shape of the node's first input, as the node's attributes describe.
/// `max_pool` gives the places of the greatest elements too, where output 1 is wanted.
TensorExpr max_pool(NodeContext& node, const TensorExpr& x, Channels channels);
TensorExpr average_pool(NodeContext& node, const TensorExpr& x, Channels channels);
/// A reduction over all axes but batch and channels.
TensorExpr global_pool(std::string_view reduction, const TensorExpr& x, Channels channels);

}  // namespace dyn::onnx
