#pragma once
// Resizes one axis.

#include "src/import/onnx/parts/interpolation.hpp"

namespace dyn::onnx {

/// Describes an axis that is resized.
struct AxisRequest {
  int axis = 0;
  Dim in, out;
  std::optional<float> scale;             ///< where the node gives it; else the sizes say
  std::optional<TensorExpr> scale_value;  ///< where the scale is neither given nor out / in
  /// The part of the axis that is taken: numbers, or values where these depend on data.
  std::optional<std::pair<float, float>> part;
  std::optional<std::pair<TensorExpr, TensorExpr>> part_values;
};

/// x with that axis resized.
TensorExpr interpolate(const TensorExpr& x, const Resizing& resizing, const AxisRequest& request);

}  // namespace dyn::onnx
