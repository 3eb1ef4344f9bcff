// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv.

#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integer_product.hpp"
#include "src/import/onnx/parts/quantization.hpp"
#include "src/import/onnx/parts/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

/// The positions of a product's operands among the inputs.
struct Inputs {
  std::size_t a, a_zero_point, b, b_zero_point;
};

/// A vector as a matrix of one row on the left, and of one column on the right.
TensorExpr as_matrix(const TensorExpr& x, bool is_left) {
  if (x.rank() != 1) return x;
  return unsqueeze(x, is_left ? 0 : 1);
}

TensorExpr without_vectors(const TensorExpr& product, bool row, bool column) {
  Dims dims = product.dims();
  if (column) dims.pop_back();
  if (row) dims.erase(dims.end() - (column ? 1 : 2));
  return row || column ? reshape(product, dims) : product;
}

/// i32. Zero points of a belong to its rows, those of b to its columns.
TensorExpr integer_matmul(NodeContext& node, const Inputs& inputs) {
  const int a_rank = node.type_of(inputs.a).rank(), b_rank = node.type_of(inputs.b).rank();
  if (a_rank < 1 || b_rank < 1) node.fail("its operands need at least one dim");
  const Whole a = whole_input(node, inputs.a, inputs.a_zero_point, a_rank > 1 ? -2 : -1),
              b = whole_input(node, inputs.b, inputs.b_zero_point, -1);
  const auto multiply = [&](const Whole& left, const Whole& right) {
    const TensorExpr product =
        matmul(as_matrix(value_of(node, left), true), as_matrix(value_of(node, right), false));
    return without_vectors(product, a_rank == 1, b_rank == 1);
  };
  Sums sums{node.type_of(inputs.a).dims.back(), std::nullopt, a_rank > 1 && b_rank <= 2};
  if (b.constant) sums.of_magnitudes = greatest_column_sum(*b.constant);
  if (const std::optional<TensorExpr> product = exact_product(node, a, b, sums, multiply))
    return *product;
  const auto as_integers = [&](const Whole& whole) {
    return Whole{std::nullopt, cast(value_of(node, whole), DType::i32)};
  };
  return multiply(as_integers(a), as_integers(b));
}

/// i32 [N, d..., O], channels last.
TensorExpr integer_conv(NodeContext& node, const Inputs& inputs) {
  const Dims filters = node.type_of(inputs.b).dims, extents = extents_of(node);
  if (filters.size() != extents.size() + 2)
    node.fail(
        fmt::format("its filters have {} dims, its input {}", filters.size(), extents.size() + 2));
  const Integers sizes = filter_sizes(node, filters);
  const SlidingWindows windows = windows_of(node, sizes, extents);
  Integers perm(filters.size());
  std::iota(perm.begin(), perm.end() - 2, 2);
  perm[perm.size() - 2] = 1;
  perm.back() = 0;
  std::vector<graph::Attr> attrs = conv_attrs_of(node, windows, node.integer("group", 1));
  const Whole x = whole_input(node, inputs.a, inputs.a_zero_point, -1),
              w = whole_input(node, inputs.b, inputs.b_zero_point, 0);
  const auto multiply = [&](const Whole& image, const Whole& by) {
    const TensorExpr permuted_filters =
        by.constant ? value_of(node, Whole{permuted(*by.constant, perm), std::nullopt})
                    : transpose(*by.value, perm);
    return apply(
        "conv",
        {TensorExpr{node, channels_last(node, value_of(node, image).id())}, permuted_filters},
        attrs);
  };
  const Dim terms = product(node, {filters.begin() + 1, filters.end()});
  Sums sums{terms, std::nullopt, true};
  if (w.constant) sums.of_magnitudes = greatest_filter_sum(*w.constant);
  const std::optional<TensorExpr> result = exact_product(node, x, w, sums, multiply);
  if (!result)
    node.fail_unsupported(
        fmt::format("sums of {} products are not supported", graph::to_string(terms)));
  return *result;
}

void convert_matmul_integer(NodeContext& node) {
  node.give(integer_matmul(node, {0, 2, 1, 3}).id());
}

void convert_conv_integer(NodeContext& node) {
  node.give(channels_first(node, integer_conv(node, {0, 2, 1, 3}).id()));
}

constexpr Inputs of_quantized{0, 2, 3, 5};
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
  const TensorExpr sum = integer_matmul(node, of_quantized);
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
void convert_qlinear_conv(NodeContext& node) {
  TensorExpr sum = integer_conv(node, of_quantized);
  const auto over_channels = [&](std::size_t input) {
    return by_axis(f32_scale(node, input), sum.rank() - 1, sum.rank());
  };
  const TensorExpr factor =
      over_channels(a_scale) * over_channels(b_scale) / over_channels(y_scale);
  if (node.has(bias)) sum = sum + input_expr(node, bias);
  node.give(channels_first(node, requantized(node, sum, factor).id()));
}

}  // namespace

Family quantized_product_operators() {
  return {{"MatMulInteger", convert_matmul_integer},
          {"ConvInteger", convert_conv_integer},
          {"QLinearMatMul", convert_qlinear_matmul, Halves::InF32},
          {"QLinearConv", convert_qlinear_conv, Halves::InF32}};
}

}  // namespace dyn::onnx
