// Products of 8-bit integers whose results are numbers again, and attention on one.

#include <fmt/format.h>

#include "src/import/onnx/ops/contrib/masked_attention.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/integers/integer_product.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"

namespace dyn::onnx {
namespace {

/// A scale of all elements of a left factor.
TensorExpr single_scale(NodeContext& node, std::size_t input) {
  const TensorExpr scale = input_expr(node, input);
  if (scale.rank() == 0) return scale;
  if (product(node, scale.dims()).constant() != 1)
    node.fail_unsupported("a scale for each row or column of the left factor is not supported");
  return reshape(scale, {});
}

/// Sums of products as numbers: times the left factor's scale and the right one's, which may be one
/// for each column; and a bias.
TensorExpr rescaled(NodeContext& node, const TensorExpr& sums, const TensorExpr& a_scale,
                    std::size_t b_scale, std::size_t bias) {
  const TensorExpr factor =
      a_scale * by_axis(input_expr(node, b_scale), sums.rank() - 1, sums.rank());
  const TensorExpr numbers = cast(sums, DType::f32) * factor;
  if (!node.has(bias)) return numbers;
  node.require_rank(bias, 1);
  return numbers + input_expr(node, bias);
}

void convert_dynamic_quantize_matmul(NodeContext& node) {
  constexpr std::size_t b = 1, b_scale = 2, b_zero_point = 3, bias = 4;
  const DynamicallyQuantized a = dynamically_quantized(input_expr(node, 0));
  const Whole factor = whole_input(node, b, b_zero_point, -1);
  const TensorExpr sums = integer_matmul(node, whole_of(a), factor);
  node.give(rescaled(node, sums, a.scale, b_scale, bias).id());
}

void convert_matmul_integer_to_float(NodeContext& node) {
  constexpr std::size_t a = 0, b = 1, a_scale = 2, b_scale = 3, a_zero_point = 4, b_zero_point = 5,
                        bias = 6;
  const Whole left = whole_input(node, a, a_zero_point, -1),
              right = whole_input(node, b, b_zero_point, -1);
  const TensorExpr sums = integer_matmul(node, left, right);
  node.give(rescaled(node, sums, single_scale(node, a_scale), b_scale, bias).id());
}

/// alpha * (A' * B' + C), where C counts in products of both scales; integers again where the
/// result has a scale.
void convert_quantized_gemm(NodeContext& node) {
  constexpr std::size_t a = 0, a_scale = 1, a_zero_point = 2, b = 3, b_scale = 4, b_zero_point = 5,
                        c = 6, y_scale = 7, y_zero_point = 8, none = 9;
  node.require_rank(a, 2);
  node.require_rank(b, 2);
  const bool transpose_b = node.integer("transB", 0) != 0;
  Whole left = whole_input(node, a, a_zero_point, -1),
        right = whole_input(node, b, b_zero_point, transpose_b ? 0 : -1);
  if (node.integer("transA", 0) != 0) left = transposed(left);
  if (transpose_b) right = transposed(right);
  TensorExpr sums = integer_matmul(node, left, right);
  if (node.has(c)) sums = sums + input_expr(node, c);
  TensorExpr result = rescaled(node, sums, single_scale(node, a_scale), b_scale, none);
  if (const double alpha = node.number("alpha", 1); alpha != 1) result = result * alpha;
  if (node.has(y_scale))
    result = requantized(result, y_scale, y_zero_point,
                         node.type_of(node.has(y_zero_point) ? y_zero_point : a).dtype);
  node.give(result.id());
}

void convert_quantized_attention(NodeContext& node) {
  constexpr std::size_t x = 0, weights = 1, bias = 2, x_scale = 3, weight_scale = 4, mask = 5,
                        x_zero_point = 6, weight_zero_point = 7, past = 8;
  node.require_rank(x, 3);
  node.require_rank(weights, 2);
  const Whole left = whole_input(node, x, x_zero_point, -1),
              right = whole_input(node, weights, weight_zero_point, -1);
  const TensorExpr sums = integer_matmul(node, left, right);
  const TensorExpr projected =
      rescaled(node, sums, single_scale(node, x_scale), weight_scale, bias);
  give_projected_attention(node, projected, {mask, no_input, true}, past);
}

}  // namespace

Family integer_product_operators() {
  return {{"DynamicQuantizeMatMul", convert_dynamic_quantize_matmul},
          {"MatMulIntegerToFloat", convert_matmul_integer_to_float, Halves::InF32, 2},
          {"QGemm", convert_quantized_gemm},
          {"QAttention", convert_quantized_attention, Halves::InF32, 2}};
}

}  // namespace dyn::onnx
