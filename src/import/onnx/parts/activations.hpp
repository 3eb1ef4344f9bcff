#pragma once
// The activation functions of ONNX, as arithmetic on values.

#include <optional>
#include <string>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// x between both bounds.
TensorExpr clamp(const TensorExpr& x, double low, double high);
TensorExpr hard_sigmoid(const TensorExpr& x, double alpha, double beta);
TensorExpr hard_swish(const TensorExpr& x);
TensorExpr leaky_relu(const TensorExpr& x, const TensorExpr& slope);
TensorExpr elu(const TensorExpr& x, double alpha);
TensorExpr selu(const TensorExpr& x, double alpha, double gamma);
TensorExpr celu(const TensorExpr& x, double alpha);
/// max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
TensorExpr softplus(const TensorExpr& x);
TensorExpr softsign(const TensorExpr& x);
TensorExpr thresholded_relu(const TensorExpr& x, double alpha);
/// x * sigmoid(alpha * x).
TensorExpr swish(const TensorExpr& x, double alpha);
/// By erf, or by the tanh formula.
TensorExpr gelu(const TensorExpr& x, bool by_tanh = false);

/// The constants of Selu, which newer opsets give in full.
inline constexpr double selu_alpha = 1.67326319243621684, selu_gamma = 1.05070102214813232;

/// An activation that an operator applies to its result; "" for none. Parameters that are left out
/// have the values that the ONNX operator of this name gives them.
struct FusedActivation {
  std::string name;
  std::optional<double> alpha, beta, gamma;
};

/// Throws Error(unsupported) for a name that is none of the above.
TensorExpr activated(const TensorExpr& x, const FusedActivation& by);

}  // namespace dyn::onnx
