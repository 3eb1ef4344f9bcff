#include "src/import/onnx/parts/products.hpp"

namespace dyn::onnx {

TensorExpr as_matrix(const TensorExpr& x, bool is_left) {
  if (x.rank() != 1) return x;
  return unsqueeze(x, is_left ? 0 : 1);
}

TensorExpr without_vectors(const TensorExpr& product, bool row, bool column) {
  if (!row && !column) return product;
  Dims dims = product.dims();
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return reshape(product, dims);
}

TensorExpr numpy_matmul(const TensorExpr& a, const TensorExpr& b, bool transpose_a,
                        bool transpose_b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  std::vector<graph::Attr> attrs;
  if (transpose_a && !row) attrs.push_back({"transpose_a", true});
  if (transpose_b && !column) attrs.push_back({"transpose_b", true});
  return without_vectors(
      apply("matmul", {as_matrix(a, true), as_matrix(b, false)}, std::move(attrs)), row, column);
}

TensorExpr gemm(NodeContext& node, const std::optional<TensorExpr>& product) {
  const bool transpose_a = node.integer("transA", 0) != 0,
             transpose_b = node.integer("transB", 0) != 0;
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  TensorExpr sum = product ? *product
                           : apply("matmul", {input_expr(node, 0), input_expr(node, 1)},
                                   {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  if (alpha != 1) sum = sum * alpha;
  if (!node.has(2)) return sum;
  const TensorExpr c = input_expr(node, 2);
  return sum + (beta == 1 ? c : c * beta);
}

}  // namespace dyn::onnx
