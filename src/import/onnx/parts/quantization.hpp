#pragma once
// Integers that stand for numbers: (integer - zero point) * scale.

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// round(x) + zero point as an integer of the dtype, the nearest one that it has; halves round to
/// even. x is f32 and whole after rounding; `zero_point` f32 or none.
Term quantized(const Term& x, const std::optional<Term>& zero_point, DType dtype);

/// A scalar as it is, a vector along the axis of a tensor of `rank` dims.
Term by_axis(const Term& x, int axis, int rank);

}  // namespace dyn::onnx
