// MatMul and Gemm.

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/products.hpp"

namespace dyn::onnx {
namespace {

void convert_matmul(NodeContext& node) {
  node.give(numpy_matmul(input_expr(node, 0), input_expr(node, 1)).id());
}

void convert_gemm(NodeContext& node) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) node.require_rank(input, 2);
  node.give(gemm(node).id());
}

}  // namespace

Family contraction_operators() { return {{"MatMul", convert_matmul}, {"Gemm", convert_gemm}}; }

}  // namespace dyn::onnx
