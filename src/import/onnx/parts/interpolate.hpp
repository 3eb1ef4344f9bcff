#pragma once
// One axis at another size.

#include "src/import/onnx/parts/interpolation.hpp"

namespace dyn::onnx {

/// What is known of an axis that is resized.
struct AxisRequest {
  int axis = 0;
  Dim in, out;
  std::optional<float> scale;             ///< where it is given; else the sizes say
  std::optional<TensorExpr> scale_value;  ///< where it is neither given nor out / in
  /// The part that is taken: numbers, or where these depend on data, values.
  std::optional<std::pair<float, float>> part;
  std::optional<std::pair<TensorExpr, TensorExpr>> part_values;
};

/// x with that axis resized.
TensorExpr interpolate(const TensorExpr& x, const Resizing& resizing, const AxisRequest& request);

}  // namespace dyn::onnx
