#pragma once
// Products of numbers that stand for integers: MatMul, Gemm and Conv between DequantizeLinear and
// QuantizeLinear, as quantisers write them.

#include "src/import/onnx/parts/integers/integer_product.hpp"

namespace dyn::onnx {

/// Conv of x and filters that were dequantised, the filters constants of the file, computed as the
/// product of the integers, whose sums are rescaled; its bias, where there is one, becomes part of
/// the sums if it counts in their scale. Nothing where the inputs are others.
std::optional<TensorExpr> dequantized_conv(NodeContext& node, Channels channels);

/// The same of a * b, matrices or vectors as MatMul takes them, `transpose_b` as Gemm does; without
/// a bias.
std::optional<TensorExpr> dequantized_matmul(NodeContext& node, bool transpose_b = false);

}  // namespace dyn::onnx
