#pragma once
// The sliding windows of a convolution or a pool, as ONNX' attributes describe them.

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Windows along the axes of x after its batch and channels.
struct SlidingWindows {
  std::vector<std::int64_t> sizes, strides, dilations;
  std::vector<Dim> before, after;

  std::int64_t reach(std::size_t i) const { return (sizes[i] - 1) * dilations[i] + 1; }
  /// Elements of a window, over all axes.
  std::int64_t taps() const {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies());
  }
};

/// An attribute of numbers from 1 on, one for each of `size` axes; where the node leaves it out,
/// `value` for each.
std::vector<std::int64_t> list_of(NodeContext& node, const char* name, std::size_t size,
                                  std::int64_t value);

/// The windows that the node's attributes describe, padded as pads or auto_pad say.
SlidingWindows windows_of(NodeContext& node, std::vector<std::int64_t> sizes,
                          const std::vector<Dim>& extents);

/// Where the channels of a tensor stand: behind the batch, or behind all other axes.
enum class Channels : std::uint8_t { First, Last };

/// The dims of the first input beside batch and channels.
std::vector<Dim> extents_of(NodeContext& node, Channels channels = Channels::First);

/// The sizes of filters [O, C, sizes...], which must be known.
std::vector<std::int64_t> filter_sizes(NodeContext& node, const std::vector<Dim>& filters);

/// True for a pool of stride 1 whose window covers, at the file's sizes, whole axes, of which one
/// at least is freed. The window slides nowhere there, so the pool covers the whole input at any
/// size.
bool holds_all(NodeContext& node, const SlidingWindows& windows, const std::vector<Dim>& extents);

/// The attributes of a conv.
std::vector<graph::Attr> conv_attrs_of(NodeContext& node, const SlidingWindows& windows,
                                       std::int64_t groups);

/// Attributes for conv and pools; those with their default value are left out.
std::vector<graph::Attr> attrs_of(NodeContext& node, const SlidingWindows& windows,
                                  bool with_sizes);

}  // namespace dyn::onnx
