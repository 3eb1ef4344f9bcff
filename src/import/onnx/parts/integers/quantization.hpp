#pragma once
// Integers that stand for numbers: (integer - zero point) * scale.

#include <functional>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// round(x) + zero point as an integer of the dtype, the nearest one that it has; halves round to
/// even. x is f32 and whole after rounding; `zero_point` f32 or none.
TensorExpr quantized(const TensorExpr& x, const std::optional<TensorExpr>& zero_point, DType dtype);

/// What Operand::raised adds to elements of i8.
inline constexpr double raised_by = 128;

/// A scalar unchanged; a vector along the axis of a tensor of `rank` dims.
TensorExpr by_axis(const TensorExpr& x, int axis, int rank);

/// x as whole numbers from 0 to 255 less a zero point, times a scale. Both follow from the least
/// and the greatest element, with 0 in their range.
struct DynamicallyQuantized {
  TensorExpr whole;  ///< f32, with its zero point
  TensorExpr scale, zero_point;
};
DynamicallyQuantized dynamically_quantized(const TensorExpr& x);

/// Where an integer tensor and what it means stand among a node's inputs. The zero point may be
/// left out.
struct QuantizedInput {
  std::size_t tensor, scale, zero_point;
};

/// The numbers that integers stand for, by the node's inputs of a scale and a zero point, which are
/// one for all: f32.
TensorExpr as_numbers(const TensorExpr& integers, std::size_t scale, std::size_t zero_point);
/// The same of an input.
TensorExpr number_input(NodeContext& node, const QuantizedInput& input);
/// The integers of the dtype that stand for x, by the node's inputs of a scale and a zero point,
/// which are one for all.
TensorExpr requantized(const TensorExpr& x, std::size_t scale, std::size_t zero_point, DType dtype);

/// The numbers that a constant's elements stand for: element i less zero point `which(i)`, times
/// scale `which(i)`, in f32.
Tensor dequantized(const Tensor& x, const std::vector<double>& scales,
                   const std::vector<double>& zeros,
                   const std::function<std::size_t(std::size_t)>& which);

}  // namespace dyn::onnx
