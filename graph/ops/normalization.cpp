// Compound operators along one axis, and compound activations.

#include <fmt/format.h>

#include "graph/ops/families.hpp"
#include "graph/ops/infer.hpp"

namespace dyn::graph {

namespace {

void infer_activation(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, float_dtypes);
  outputs[0] = context.input(0);
}

void infer_gelu(InferContext& context, std::vector<TensorType>& outputs) {
  const std::string approximate = context.word("approximate");
  if (approximate != "none" && approximate != "tanh")
    context.fail(fmt::format("gelu: approximate must be none or tanh, not {}", approximate));
  infer_activation(context, outputs);
}

void infer_softmax(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  axis_attr(context, "axis", context.input(0).rank());
  infer_activation(context, outputs);
}

/// layer_norm and rms_norm: every input after x is a vector along x's last axis.
void infer_norm(InferContext& context, std::vector<TensorType>& outputs) {
  require_min_rank(context, 0, 1);
  require_dtype(context, 0, float_dtypes);
  require_same_dtype(context);
  const double epsilon = context.number("epsilon");
  if (!(epsilon >= 0))
    context.fail(fmt::format("epsilon must not be negative, but is {}", epsilon));
  for (std::size_t i = 1; i < context.input_count(); ++i)
    require_vector_along(context, i, 0, context.input(0).rank() - 1);
  outputs[0] = context.input(0);
}

}  // namespace

std::vector<OpDef> normalization_ops() {
  const AttrDef epsilon{"epsilon", AttrKind::Float, "1e-05",
                        "added to the variance, or mean square"};
  return {
      {OpId::Softmax,
       OpClass::Compound,
       1,
       1,
       1,
       {{"axis", AttrKind::Integer, "-1", "the axis along which the result sums to 1"}},
       infer_softmax,
       "exp(x - max) / sum(exp(x - max)) along one axis.",
       "x of rank 1 or more; the result has the same shape.",
       float_to_float,
       "An axis outside of x; a scalar."},
      {OpId::LayerNorm,
       OpClass::Compound,
       3,
       3,
       1,
       {epsilon},
       infer_norm,
       "(x - mean) / sqrt(variance + epsilon) * weight + bias, with mean and (biased) variance "
       "over the last axis; "
       "arguments: x, weight, bias.",
       "x: [..., D], weight: [D], bias: [D]; the result has the shape of x.",
       float_to_float,
       "weight or bias of another size than x's last axis."},
      {OpId::RmsNorm,
       OpClass::Compound,
       2,
       2,
       1,
       {epsilon},
       infer_norm,
       "x / sqrt(mean(x * x) + epsilon) * weight, with the mean over the last axis; arguments: x, "
       "weight.",
       "x: [..., D], weight: [D]; the result has the shape of x.",
       float_to_float,
       "weight of another size than x's last axis."},
      {OpId::Gelu,
       OpClass::Compound,
       1,
       1,
       1,
       {{"approximate", AttrKind::Word, "none", "none: by erf; tanh: by the tanh formula"}},
       infer_gelu,
       "0.5 * x * (1 + erf(x / sqrt(2))), or 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * "
       "x^3))).",
       "x of any shape; the result has the same.",
       float_to_float,
       "Another word for approximate."},
      {OpId::Silu,
       OpClass::Compound,
       1,
       1,
       1,
       {},
       infer_activation,
       "x * sigmoid(x).",
       "x of any shape; the result has the same.",
       float_to_float,
       "Other dtypes."},
  };
}

}  // namespace dyn::graph
