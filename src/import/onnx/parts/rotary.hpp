#pragma once
// Places as rotations of pairs of numbers.

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// The turns of the first `part` numbers of a head: a cosine and a sine for each pair of them.
struct Turns {
  TensorExpr cosine, sine;  ///< [.., part / 2], which broadcast with the heads' other axes
  Dim part;
  bool interleaved;  ///< pairs are neighbours, and not one number of each half
};

/// Heads along the last axis, with their first numbers turned.
TensorExpr rotated(const TensorExpr& heads, const Turns& turns);

}  // namespace dyn::onnx
