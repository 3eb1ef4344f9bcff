#pragma once
// Permutes axes: channels last, as dyn's sliding windows have them, or after the batch, as ONNX has
// them.

#include <span>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// [N, C, d...] to [N, d..., C], and back.
ValueId channels_last(NodeContext& node, ValueId x);
ValueId channels_first(NodeContext& node, ValueId x);

/// The tensor's elements with the axes in the order `perm`.
Tensor permuted(const Tensor& tensor, std::span<const std::int64_t> perm);

/// The input with its axes in the order `perm`. A constant gives a constant, so that nothing is
/// transposed when the model runs.
ValueId permuted_input(NodeContext& node, std::size_t input, std::span<const std::int64_t> perm);

}  // namespace dyn::onnx
