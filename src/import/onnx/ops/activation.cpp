// Activation functions.

#include <cmath>
#include <limits>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/before_opset7.hpp"

namespace dyn::onnx {
namespace {

ValueId clamp(NodeContext& node, ValueId x, double low, double high) {
  return node.add("minimum", {node.add("maximum", {x, node.scalar(low, x)}), node.scalar(high, x)});
}

/// max(x, low), then min(x, high): ONNX defines it so for bounds in the wrong order too.
void convert_clip(NodeContext& node) {
  ValueId x = node.value(0);
  constexpr int bounds_are_inputs = 11;
  if (node.opset() < bounds_are_inputs) {
    if (node.attribute("min") != nullptr)
      x = node.add("maximum", {x, node.scalar(node.number("min", 0), x)});
    if (node.attribute("max") != nullptr)
      x = node.add("minimum", {x, node.scalar(node.number("max", 0), x)});
    return node.give(x);
  }
  if (node.has(1)) x = node.add("maximum", {x, node.value(1)});
  if (node.has(2)) x = node.add("minimum", {x, node.value(2)});
  node.give(x);
}

ValueId hard_sigmoid(NodeContext& node, ValueId x, double alpha, double beta) {
  return clamp(node,
               node.add("add", {node.add("mul", {x, node.scalar(alpha, x)}), node.scalar(beta, x)}),
               0, 1);
}

void convert_hard_sigmoid(NodeContext& node) {
  node.give(hard_sigmoid(node, node.value(0), node.number("alpha", 0.2), node.number("beta", 0.5)));
}

void convert_hard_swish(NodeContext& node) {
  const ValueId x = node.value(0);
  node.give(node.add("mul", {x, hard_sigmoid(node, x, 1.0 / 6, 0.5)}));
}

/// x where it is at least 0, else the other; NaN takes the second.
ValueId positive_or(NodeContext& node, ValueId x, ValueId other) {
  return node.add("where", {node.add("greater_equal", {x, node.scalar(0, x)}), x, other});
}

void convert_leaky_relu(NodeContext& node) {
  const ValueId x = node.value(0);
  node.give(positive_or(node, x, node.add("mul", {x, node.scalar(node.number("alpha", 0.01), x)})));
}

/// Before opset 7 a vector of slopes has one for each channel.
ValueId slopes(NodeContext& node) {
  const int rank = node.type(0).rank();
  std::vector<Dim> dims = node.type(1).dims;
  if (node.opset() >= broadcasts_by_shape || dims.size() != 1 || dims[0].constant() == 1 ||
      rank < 3)
    return node.value(1);
  dims.insert(dims.end(), static_cast<std::size_t>(rank - 2), node.dims().constant(1));
  return node.add("reshape", {node.value(1)}, {node.dim_list("shape", dims)});
}

void convert_prelu(NodeContext& node) {
  const ValueId x = node.value(0);
  node.give(positive_or(node, x, node.add("mul", {x, slopes(node)})));
}

ValueId exponential_below_zero(NodeContext& node, ValueId x, double alpha) {
  return positive_or(node, x,
                     node.add("mul", {node.add("sub", {node.add("exp", {x}), node.scalar(1, x)}),
                                      node.scalar(alpha, x)}));
}

void convert_elu(NodeContext& node) {
  node.give(exponential_below_zero(node, node.value(0), node.number("alpha", 1)));
}

void convert_selu(NodeContext& node) {
  const ValueId x = node.value(0);
  const bool is_short = node.opset() < 6;
  const double alpha = is_short ? 1.6732 : 1.67326319217681884765625,
               gamma = is_short ? 1.0507 : 1.05070102214813232421875;
  node.give(node.add("mul", {exponential_below_zero(node, x, node.number("alpha", alpha)),
                             node.scalar(node.number("gamma", gamma), x)}));
}

void convert_celu(NodeContext& node) {
  const ValueId x = node.value(0);
  const double alpha = node.number("alpha", 1);
  const ValueId below = node.add(
      "mul", {node.add("sub", {node.add("exp", {node.add("div", {x, node.scalar(alpha, x)})}),
                               node.scalar(1, x)}),
              node.scalar(alpha, x)});
  node.give(positive_or(node, x, below));
}

/// max(x, 0) + log(1 + exp(-|x|)), which does not overflow.
ValueId softplus(NodeContext& node, ValueId x) {
  const ValueId small = node.add("exp", {node.add("neg", {node.add("abs", {x})})});
  return node.add("add", {node.add("relu", {x}),
                          node.add("log", {node.add("add", {small, node.scalar(1, x)})})});
}

void convert_softplus(NodeContext& node) { node.give(softplus(node, node.value(0))); }

void convert_softsign(NodeContext& node) {
  const ValueId x = node.value(0);
  node.give(node.add("div", {x, node.add("add", {node.add("abs", {x}), node.scalar(1, x)})}));
}

void convert_mish(NodeContext& node) {
  const ValueId x = node.value(0);
  node.give(node.add("mul", {x, node.add("tanh", {softplus(node, x)})}));
}

void convert_thresholded_relu(NodeContext& node) {
  const ValueId x = node.value(0);
  const ValueId above = node.add("greater", {x, node.scalar(node.number("alpha", 1), x)});
  node.give(node.add("where", {above, x, node.scalar(0, x)}));
}

/// Towards 0 by the bias, and 0 between -lambd and lambd.
void convert_shrink(NodeContext& node) {
  const ValueId x = node.value(0);
  const double limit = node.number("lambd", 0.5);
  const ValueId bias = node.scalar(node.number("bias", 0), x);
  const ValueId above = node.add("where", {node.add("greater", {x, node.scalar(limit, x)}),
                                           node.add("sub", {x, bias}), node.scalar(0, x)});
  node.give(node.add(
      "where", {node.add("less", {x, node.scalar(-limit, x)}), node.add("add", {x, bias}), above}));
}

void convert_gelu(NodeContext& node) {
  node.give(node.add("gelu", {node.value(0)}, {{"approximate", node.word("approximate", "none")}}));
}

/// Inference only: the output is the data, and nothing is dropped.
void convert_dropout(NodeContext& node) {
  constexpr std::size_t training_mode = 2;
  refuse_training(node);
  const bool trains =
      node.has(training_mode) && node.need_number(training_mode, "training_mode") != 0;
  if (trains && (!node.has(1) || node.need_number(1, "ratio") != 0))
    node.fail_unsupported("training is not supported");
  if (node.wants(1)) {
    const std::vector<Dim> dims = node.type(0).dims;
    node.give(node.add("expand", {node.builder().integer(DType::boolean, 1)},
                       {node.dim_list("shape", dims)}),
              1);
  }
  node.give(node.operand(0));
}

}  // namespace

Family activation_operators() {
  return {{"Clip", convert_clip},
          {"HardSigmoid", convert_hard_sigmoid, Halves::InF32},
          {"HardSwish", convert_hard_swish, Halves::InF32},
          {"LeakyRelu", convert_leaky_relu},
          {"PRelu", convert_prelu},
          {"Elu", convert_elu, Halves::InF32},
          {"Selu", convert_selu, Halves::InF32},
          {"Celu", convert_celu, Halves::InF32},
          {"Softplus", convert_softplus, Halves::InF32},
          {"Softsign", convert_softsign, Halves::InF32},
          {"Mish", convert_mish, Halves::InF32},
          {"ThresholdedRelu", convert_thresholded_relu},
          {"Gelu", convert_gelu},
          {"Shrink", convert_shrink},
          {"Dropout", convert_dropout}};
}

}  // namespace dyn::onnx
