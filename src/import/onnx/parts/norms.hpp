#pragma once
// Normalisation of values by their mean and variance, or by their mean square.

#include <optional>

#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {

/// first, first + 1, ... rank - 1.
Integers axes_from(int first, int rank);

TensorExpr centered(const TensorExpr& x, const Integers& axes);
TensorExpr variance_of(const TensorExpr& centered, const Integers& axes);

/// Over the last axis, whose elements each have a factor, and a summand where there are any. Fails
/// where these are no vectors.
TensorExpr layer_norm(const TensorExpr& x, const TensorExpr& factors,
                      const std::optional<TensorExpr>& summands, double epsilon);
TensorExpr rms_norm(const TensorExpr& x, const TensorExpr& factors, double epsilon);

/// Over groups of channels: in place of the channels' axis the result has two, of the groups and of
/// the channels in one. `groups` must be at least 1, and x needs a batch and channels.
TensorExpr group_normalized(const TensorExpr& x, std::int64_t groups, double epsilon,
                            Channels channels);

}  // namespace dyn::onnx
