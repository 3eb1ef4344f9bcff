// MatMul and Gemm.

#include "src/import/onnx/ops/families.hpp"

namespace dyn::onnx {
namespace {

ValueId with_shape(NodeContext& node, ValueId x, const std::vector<Dim>& dims) {
  return node.add("reshape", {x}, {node.dim_list("shape", dims)});
}

/// A vector is a matrix of one row on the left, of one column on the right; that dim is not in the
/// result.
void convert_matmul(NodeContext& node) {
  ValueId a = node.value(0), b = node.value(1);
  const bool row = node.type(0).rank() == 1, column = node.type(1).rank() == 1;
  if (row) a = with_shape(node, a, {node.dims().constant(1), node.type(0).dims[0]});
  if (column) b = with_shape(node, b, {node.type(1).dims[0], node.dims().constant(1)});
  ValueId product = node.add("matmul", {a, b});
  if (row || column) {
    std::vector<Dim> dims = node.builder().type(product).dims;
    if (column) dims.pop_back();
    if (row) dims.erase(dims.end() - (column ? 1 : 2));
    product = with_shape(node, product, dims);
  }
  node.give(product);
}

/// alpha * A' * B' + beta * C.
void convert_gemm(NodeContext& node) {
  for (const std::size_t input : {std::size_t{0}, std::size_t{1}}) node.require_rank(input, 2);
  const bool transpose_a = node.integer("transA", 0) != 0,
             transpose_b = node.integer("transB", 0) != 0;
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  ValueId sum = node.add("matmul", {node.value(0), node.value(1)},
                         {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  if (alpha != 1) sum = node.add("mul", {sum, node.scalar(alpha, sum)});
  if (node.has(2)) {
    ValueId c = node.value(2);
    if (beta != 1) c = node.add("mul", {c, node.scalar(beta, c)});
    sum = node.add("add", {sum, c});
  }
  node.give(sum);
}

}  // namespace

Family contraction_operators() { return {{"MatMul", convert_matmul}, {"Gemm", convert_gemm}}; }

}  // namespace dyn::onnx
