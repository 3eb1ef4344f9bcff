#pragma once
// Integers that stand for numbers: (integer - zero point) * scale.

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// round(x) + zero point as an integer of the dtype, the nearest one that it has; halves round to
/// even. x is f32 and whole after rounding; `zero_point` f32 or none.
TensorExpr quantized(const TensorExpr& x, const std::optional<TensorExpr>& zero_point, DType dtype);

/// A scalar unchanged; a vector along the axis of a tensor of `rank` dims.
TensorExpr by_axis(const TensorExpr& x, int axis, int rank);

}  // namespace dyn::onnx
