#pragma once
// Casts to narrow floats as ONNX defines them.

#include <string>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

struct Narrowing {
  bool saturates = true;         ///< beyond the greatest number is the greatest number
  std::string direction = "up";  ///< up, down or nearest: how f8e8m0 rounds; others go to nearest
};

/// x, a float or an integer, as codes of the dtype.
TensorExpr narrowed(const TensorExpr& x, DType to, const Narrowing& narrowing);

}  // namespace dyn::onnx
