#include "src/import/onnx/parts/activations.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace dyn::onnx {
namespace {

/// x where it is at least 0, else the other; NaN takes the second.
TensorExpr positive_or(const TensorExpr& x, const TensorExpr& other) {
  return where(apply("greater_equal", {x, x.scalar(0)}), x, other);
}

}  // namespace

TensorExpr clamp(const TensorExpr& x, double low, double high) {
  return minimum(maximum(x, low), high);
}

TensorExpr hard_sigmoid(const TensorExpr& x, double alpha, double beta) {
  return clamp(x * alpha + beta, 0, 1);
}

TensorExpr hard_swish(const TensorExpr& x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); }

TensorExpr leaky_relu(const TensorExpr& x, const TensorExpr& slope) {
  return positive_or(x, x * slope);
}

TensorExpr elu(const TensorExpr& x, double alpha) { return positive_or(x, (exp(x) - 1.0) * alpha); }

TensorExpr selu(const TensorExpr& x, double alpha, double gamma) { return elu(x, alpha) * gamma; }

TensorExpr celu(const TensorExpr& x, double alpha) {
  return positive_or(x, (exp(x / alpha) - 1.0) * alpha);
}

TensorExpr softplus(const TensorExpr& x) {
  const TensorExpr small = exp(-abs(x));
  return apply("relu", {x}) + log(small + 1.0);
}

TensorExpr softsign(const TensorExpr& x) { return x / (abs(x) + 1.0); }

TensorExpr thresholded_relu(const TensorExpr& x, double alpha) {
  return where(apply("greater", {x, x.scalar(alpha)}), x, 0.0);
}

TensorExpr swish(const TensorExpr& x, double alpha) {
  return alpha == 1 ? apply("silu", {x}) : x * apply("sigmoid", {x * alpha});
}

TensorExpr gelu(const TensorExpr& x, bool by_tanh) {
  return apply("gelu", {x}, {{"approximate", std::string(by_tanh ? "tanh" : "none")}});
}

namespace {

using Activate = TensorExpr (*)(const TensorExpr&, const FusedActivation&);

struct NamedActivation {
  std::string_view name;
  Activate activate;
};

constexpr NamedActivation activations[] = {
    {"Relu", [](const TensorExpr& x, const FusedActivation&) { return apply("relu", {x}); }},
    {"Tanh", [](const TensorExpr& x, const FusedActivation&) { return apply("tanh", {x}); }},
    {"Sigmoid", [](const TensorExpr& x, const FusedActivation&) { return apply("sigmoid", {x}); }},
    {"LeakyRelu",
     [](const TensorExpr& x, const FusedActivation& by) {
       return leaky_relu(x, x.scalar(by.alpha.value_or(0.01)));
     }},
    {"Clip",
     [](const TensorExpr& x, const FusedActivation& by) {
       constexpr double most = std::numeric_limits<float>::max();
       return clamp(x, by.alpha.value_or(-most), by.beta.value_or(most));
     }},
    {"HardSigmoid",
     [](const TensorExpr& x, const FusedActivation& by) {
       return hard_sigmoid(x, by.alpha.value_or(0.2), by.beta.value_or(0.5));
     }},
    {"HardSwish", [](const TensorExpr& x, const FusedActivation&) { return hard_swish(x); }},
    {"Elu",
     [](const TensorExpr& x, const FusedActivation& by) { return elu(x, by.alpha.value_or(1)); }},
    {"Selu",
     [](const TensorExpr& x, const FusedActivation& by) {
       return selu(x, by.alpha.value_or(selu_alpha), by.gamma.value_or(selu_gamma));
     }},
    {"Celu",
     [](const TensorExpr& x, const FusedActivation& by) { return celu(x, by.alpha.value_or(1)); }},
    {"Softplus", [](const TensorExpr& x, const FusedActivation&) { return softplus(x); }},
    {"Softsign", [](const TensorExpr& x, const FusedActivation&) { return softsign(x); }},
    {"ThresholdedRelu",
     [](const TensorExpr& x, const FusedActivation& by) {
       return thresholded_relu(x, by.alpha.value_or(1));
     }},
    {"Gelu", [](const TensorExpr& x, const FusedActivation&) { return gelu(x); }},
    {"QuickGelu", [](const TensorExpr& x,
                     const FusedActivation& by) { return swish(x, by.alpha.value_or(1.702)); }},
};

}  // namespace

TensorExpr activated(const TensorExpr& x, const FusedActivation& by) {
  if (by.name.empty()) return x;
  const auto* const found =
      std::ranges::find(activations, std::string_view(by.name), &NamedActivation::name);
  if (found == std::end(activations))
    x.node().fail_unsupported(fmt::format("the activation {} is not supported", by.name));
  return found->activate(x, by);
}

}  // namespace dyn::onnx
