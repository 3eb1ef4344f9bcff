// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integers/integer_product.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

/// The positions of a product's operands among the inputs.
struct ProductInputs {
  std::size_t a, a_zero_point, b, b_zero_point;
};

TensorExpr conv_of_inputs(NodeContext& node, const ProductInputs& inputs, Channels channels,
                          AddedColumns added = nullptr) {
  return integer_conv(node, integer_input(node, inputs.a, inputs.a_zero_point),
                      integer_input(node, inputs.b, inputs.b_zero_point), inputs.b, channels,
                      added);
}

/// i32. Zero points of a belong to its rows, those of b to its columns.
TensorExpr matmul_of_inputs(NodeContext& node, const ProductInputs& inputs) {
  const int rows = node.type_of(inputs.a).rank() > 1 ? -2 : -1;
  const Whole a = whole_input(node, inputs.a, inputs.a_zero_point, rows),
              b = whole_input(node, inputs.b, inputs.b_zero_point, -1);
  return integer_matmul(node, a, b);
}

void convert_matmul_integer(NodeContext& node) {
  node.give(matmul_of_inputs(node, {0, 2, 1, 3}).id());
}

void convert_conv_integer(NodeContext& node) {
  node.give(channels_first(node, conv_of_inputs(node, {0, 2, 1, 3}, Channels::First).id()));
}

constexpr ProductInputs of_quantized{0, 2, 3, 5};
constexpr std::size_t a_scale = 1, b_scale = 4, y_scale = 6, y_zero_point = 7, bias = 8;

/// Rescales sums of products: times both scales over the result's.
TensorExpr requantized(NodeContext& node, const TensorExpr& sum, const TensorExpr& factor) {
  const TensorExpr zero_point = cast(input_expr(node, y_zero_point), DType::f32);
  return quantized(
      cast(sum, DType::f32) * factor,
      zero_point.rank() == 1 ? by_axis(zero_point, sum.rank() - 1, sum.rank()) : zero_point,
      node.type_of(y_zero_point).dtype);
}

TensorExpr f32_scale(NodeContext& node, std::size_t input) {
  if (node.type_of(input).dtype != DType::f32)
    node.fail_unsupported(
        fmt::format("a scale of {} is not supported", name_of(node.type_of(input).dtype)));
  return input_expr(node, input);
}

/// A scale of b's columns, and one of a's rows, where they are vectors.
void convert_qlinear_matmul(NodeContext& node) {
  const TensorExpr sum = matmul_of_inputs(node, of_quantized);
  const auto along_axis = [&](std::size_t input, int from_end) {
    const TensorExpr scale = f32_scale(node, input);
    return scale.rank() == 1
               ? by_axis(scale, std::max(sum.rank() - from_end, 0), std::max(sum.rank(), 1))
               : scale;
  };
  node.give(requantized(node, sum,
                        along_axis(a_scale, 2) * along_axis(b_scale, 1) / along_axis(y_scale, 1))
                .id());
}

/// The scale and the zero point of the filters may be vectors over the channels of the result.
/// ONNX Runtime's own QLinearConv has the attribute that says where the channels are.
void convert_qlinear_conv(NodeContext& node) {
  const Channels channels =
      node.integer("channels_last", 0) != 0 ? Channels::Last : Channels::First;
  const Tensor* const known_bias = node.has(bias) ? node.constant(bias) : nullptr;
  TensorExpr sum = conv_of_inputs(node, of_quantized, channels, known_bias);
  const auto over_channels = [&](std::size_t input) {
    return by_axis(f32_scale(node, input), sum.rank() - 1, sum.rank());
  };
  const TensorExpr factor =
      over_channels(a_scale) * over_channels(b_scale) / over_channels(y_scale);
  if (node.has(bias) && known_bias == nullptr) sum = sum + input_expr(node, bias);
  node.give(from_channels_last(requantized(node, sum, factor), channels).id());
}

}  // namespace

Family quantized_product_operators() {
  return {{"MatMulInteger", convert_matmul_integer},
          {"ConvInteger", convert_conv_integer},
          {"QLinearMatMul", convert_qlinear_matmul, Halves::InF32},
          {"QLinearConv", convert_qlinear_conv, Halves::InF32}};
}

}  // namespace dyn::onnx
