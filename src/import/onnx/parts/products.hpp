#pragma once
// Products of matrices, as MatMul and Gemm have them.

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// A vector as a matrix of one row on the left, and of one column on the right; others unchanged.
TensorExpr as_matrix(const TensorExpr& x, bool is_left);
/// The product of two matrices without the dims of what was a vector.
TensorExpr without_vectors(const TensorExpr& product, bool row, bool column);

/// MatMul's product. A transposed operand has its last two axes in the other order; a vector has
/// none.
TensorExpr numpy_matmul(const TensorExpr& a, const TensorExpr& b, bool transpose_a = false,
                        bool transpose_b = false);

/// alpha * A' * B' + beta * C of the node's inputs 0 to 2, as its attributes say. `product`: A' *
/// B' where it is known.
TensorExpr gemm(NodeContext& node, const std::optional<TensorExpr>& product = std::nullopt);

}  // namespace dyn::onnx
