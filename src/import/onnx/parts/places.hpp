#pragma once
// Elements chosen by indices that are tensors themselves.

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// y[i, j, k] = data[i, indices[i, j, k], k] for axis 1, and so on: indices of data's rank, whose
/// dims but for the axis' do not exceed data's.
TensorExpr gather_elements(const TensorExpr& data, const TensorExpr& indices, int axis);

/// The elements of `data`, whose first dims are `extents`, at one index for each of these; all
/// indices broadcast, and are known to be inside.
TensorExpr gather_at(const TensorExpr& data, const std::vector<TensorExpr>& indices);

}  // namespace dyn::onnx
