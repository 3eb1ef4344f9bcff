// Activation functions.

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/before_opset7.hpp"

namespace dyn::onnx {
namespace {

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

void convert_hard_sigmoid(NodeContext& node) {
  node.give(
      hard_sigmoid(input_expr(node, 0), node.number("alpha", 0.2), node.number("beta", 0.5)).id());
}

void convert_hard_swish(NodeContext& node) { node.give(hard_swish(input_expr(node, 0)).id()); }

void convert_leaky_relu(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  node.give(leaky_relu(x, x.scalar(node.number("alpha", 0.01))).id());
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
  const TensorExpr x = input_expr(node, 0);
  node.give(leaky_relu(x, {node, slopes(node)}).id());
}

void convert_elu(NodeContext& node) {
  node.give(elu(input_expr(node, 0), node.number("alpha", 1)).id());
}

void convert_selu(NodeContext& node) {
  const bool is_short = node.opset() < 6;
  node.give(selu(input_expr(node, 0), node.number("alpha", is_short ? 1.6732 : selu_alpha),
                 node.number("gamma", is_short ? 1.0507 : selu_gamma))
                .id());
}

void convert_celu(NodeContext& node) {
  node.give(celu(input_expr(node, 0), node.number("alpha", 1)).id());
}

void convert_softplus(NodeContext& node) { node.give(softplus(input_expr(node, 0)).id()); }

void convert_softsign(NodeContext& node) { node.give(softsign(input_expr(node, 0)).id()); }

void convert_mish(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  node.give((x * apply("tanh", {softplus(x)})).id());
}

void convert_thresholded_relu(NodeContext& node) {
  node.give(thresholded_relu(input_expr(node, 0), node.number("alpha", 1)).id());
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
