#pragma once
// Axes in another order: channels last, as dyn's windows have them, or after the batch, as ONNX has
// them.

#include <span>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// [N, C, d...] as [N, d..., C], and back.
ValueId channels_last(NodeContext& node, ValueId x);
ValueId channels_first(NodeContext& node, ValueId x);

/// The elements where they stand with the axes in the order `perm`.
Tensor permuted(const Tensor& tensor, std::span<const std::int64_t> perm);

/// The input with its axes in the order `perm`; of a constant a constant, so that nothing is turned
/// when the model runs.
ValueId permuted_input(NodeContext& node, std::size_t input, std::span<const std::int64_t> perm);

}  // namespace dyn::onnx
