// MatMul and Gemm.

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/integers/dequantized_product.hpp"
#include "src/import/onnx/parts/products.hpp"

namespace dyn::onnx {
namespace {

void convert_matmul(NodeContext& node) {
  if (const std::optional<TensorExpr> product = dequantized_matmul(node))
    return node.give(product->id());
  node.give(numpy_matmul(input_expr(node, 0), input_expr(node, 1)).id());
}

/// Without alpha, beta and c.
std::optional<TensorExpr> gemm_of_integers(NodeContext& node) {
  if (node.integer("transA", 0) != 0) return std::nullopt;
  return dequantized_matmul(node, node.integer("transB", 0) != 0);
}

void convert_gemm(NodeContext& node) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) node.require_rank(input, 2);
  node.give(gemm(node, gemm_of_integers(node)).id());
}

}  // namespace

Family contraction_operators() { return {{"MatMul", convert_matmul}, {"Gemm", convert_gemm}}; }

}  // namespace dyn::onnx
