// Products and convolutions with what ONNX Runtime's optimiser fuses with them: transposes, a
// factor, a sum, an activation.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/activations.hpp"
#include "src/import/onnx/parts/products.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

/// A factor whose rows come first, as [M, batch..., K], with its batch before them.
TensorExpr with_batch_first(const TensorExpr& x) {
  if (x.rank() < 3) return x;
  Integers perm;
  for (int axis = 1; axis + 1 < x.rank(); ++axis) perm.push_back(axis);
  perm.push_back(0);
  perm.push_back(x.rank() - 1);
  return transpose(x, perm);
}

void convert_fused_matmul(NodeContext& node) {
  TensorExpr a = input_expr(node, 0), b = input_expr(node, 1);
  if (node.integer("transBatchA", 0) != 0) a = with_batch_first(a);
  if (node.integer("transBatchB", 0) != 0) b = with_batch_first(b);
  const TensorExpr product =
      numpy_matmul(a, b, node.integer("transA", 0) != 0, node.integer("transB", 0) != 0);
  const double alpha = node.number("alpha", 1);
  node.give((alpha == 1 ? product : product * alpha).id());
}

std::optional<double> parameter(NodeContext& node, const char* name) {
  if (node.attribute(name) == nullptr) return std::nullopt;
  return node.number(name, 0);
}

void convert_fused_gemm(NodeContext& node) {
  const FusedActivation activation{node.word("activation", ""), parameter(node, "activation_alpha"),
                                   parameter(node, "activation_beta"),
                                   parameter(node, "activation_gamma")};
  node.give(activated(gemm(node), activation).id());
}

/// The activation of a convolution, with its parameters in a list.
FusedActivation activation_of_conv(NodeContext& node) {
  FusedActivation activation{node.word("activation", ""), {}, {}, {}};
  const AttributeProto* given = node.attribute("activation_params");
  const int count = given == nullptr ? 0 : given->floats_size();
  if (count > 0) activation.alpha = static_cast<double>(given->floats(0));
  if (count > 1) activation.beta = static_cast<double>(given->floats(1));
  if (count > 2) activation.gamma = static_cast<double>(given->floats(2));
  return activation;
}

/// Input 3 is added before the activation.
void give_fused_conv(NodeContext& node, Channels channels) {
  constexpr std::size_t summand = 3;
  TensorExpr y = convolution(node, channels);
  if (node.has(summand)) y = y + input_expr(node, summand);
  node.give(activated(y, activation_of_conv(node)).id());
}

void convert_fused_conv(NodeContext& node) { give_fused_conv(node, Channels::First); }

void convert_nhwc_conv(NodeContext& node) { give_fused_conv(node, Channels::Last); }

void convert_nhwc_max_pool(NodeContext& node) {
  node.give(max_pool(node, input_expr(node, 0), Channels::Last).id());
}

}  // namespace

Family fused_product_operators() {
  return {{"FusedMatMul", convert_fused_matmul}, {"TransposeMatMul", convert_fused_matmul},
          {"FusedGemm", convert_fused_gemm},     {"FusedConv", convert_fused_conv},
          {"NhwcConv", convert_nhwc_conv},       {"NhwcFusedConv", convert_nhwc_conv},
          {"NhwcMaxPool", convert_nhwc_max_pool}};
}

}  // namespace dyn::onnx
