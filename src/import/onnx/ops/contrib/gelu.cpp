// Activations with the bias or the residual that ONNX Runtime's optimiser fuses with them.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"

namespace dyn::onnx {
namespace {

/// The first input, with the second one added where there is one.
TensorExpr biased(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  if (!node.has(1)) return x;
  node.require_rank(1, 1);
  return x + input_expr(node, 1);
}

void convert_erf_gelu(NodeContext& node) { node.give(gelu(input_expr(node, 0)).id()); }

void convert_bias_gelu(NodeContext& node) {
  if (!node.has(1)) node.fail("it needs its bias");
  node.give(gelu(biased(node)).id());
}

void convert_fast_gelu(NodeContext& node) { node.give(gelu(biased(node), true).id()); }

void convert_quick_gelu(NodeContext& node) {
  node.give(swish(input_expr(node, 0), node.number("alpha", 1.702)).id());
}

/// The first half of the last axis, times the gelu of the second.
void convert_bias_split_gelu(NodeContext& node) {
  if (!node.has(1)) node.fail("it needs its bias");
  const TensorExpr x = biased(node);
  const int last = x.rank() - 1;
  if (last < 0) node.fail("its input needs at least one dim");
  const Dim none = node.dims().constant(0), all = x.dims().back(),
            half = floordiv(all, node.dims().constant(2));
  node.give((slice(x, last, none, half) * gelu(slice(x, last, half, all))).id());
}

void convert_bias_add(NodeContext& node) {
  if (!node.has(1)) node.fail("it needs its bias");
  node.give((biased(node) + input_expr(node, 2)).id());
}

/// Inference only: nothing is dropped.
void convert_bias_dropout(NodeContext& node) {
  constexpr std::size_t residual = 2, training_mode = 4;
  if (node.has(training_mode) && node.need_number(training_mode, "training_mode") != 0)
    node.fail_unsupported("training is not supported");
  TensorExpr sum = input_expr(node, 0) + input_expr(node, 1);
  if (node.has(residual)) sum = sum + input_expr(node, residual);
  node.give(sum.id());
  if (node.wants(1))
    node.give(
        expand({node, node.builder().integer(DType::boolean, 1)}, input_expr(node, 0).dims()).id(),
        1);
}

}  // namespace

Family gelu_operators() {
  return {{"Gelu", convert_erf_gelu},
          {"BiasGelu", convert_bias_gelu, Halves::InF32},
          {"FastGelu", convert_fast_gelu, Halves::InF32},
          {"QuickGelu", convert_quick_gelu, Halves::InF32},
          {"BiasSplitGelu", convert_bias_split_gelu, Halves::InF32},
          {"BiasAdd", convert_bias_add, Halves::InF32},
          {"BiasDropout", convert_bias_dropout, Halves::InF32}};
}

}  // namespace dyn::onnx
