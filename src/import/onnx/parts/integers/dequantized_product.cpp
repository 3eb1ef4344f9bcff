#include "src/import/onnx/parts/integers/dequantized_product.hpp"

#include <algorithm>
#include <cmath>

#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

/// Both sides of a product in integers.
struct Sides {
  std::shared_ptr<const OperandIntegers> a, b;
  std::vector<float> factors;  ///< what sums count in: one number, or one for each column
};

std::optional<float> single_number(Operand& operand) {
  const Tensor* const known = constant_of(operand);
  if (known == nullptr || known->dtype != DType::f32 || known->elements() != 1) return std::nullopt;
  return static_cast<float>(numbers_of(*known).front());
}

/// Nothing unless a has one known scale, and b is a constant with a scale for all or for each
/// element of `axis`.
std::optional<Sides> sides_of(NodeContext& node, int axis) {
  Sides sides{node.operand(0)->integers, node.operand(1)->integers, {}};
  if (!sides.a || !sides.b) return std::nullopt;
  const auto holds_bytes = [&](const OperandIntegers& of) {
    return is_byte(node.type_of(*of.elements).dtype);
  };
  if (!holds_bytes(*sides.a) || !holds_bytes(*sides.b)) return std::nullopt;
  const std::optional<float> a_scale = single_number(*sides.a->scale);
  const Tensor* const b_scale = constant_of(*sides.b->scale);
  if (!a_scale || b_scale == nullptr || b_scale->dtype != DType::f32 ||
      constant_of(*sides.b->elements) == nullptr ||
      (b_scale->elements() != 1 && sides.b->axis != axis))
    return std::nullopt;
  const bool has_zero = sides.b->zero_point != nullptr;
  if (has_zero && constant_of(*sides.b->zero_point) == nullptr) return std::nullopt;
  for (const double scale : numbers_of(*b_scale))
    sides.factors.push_back(*a_scale * static_cast<float>(scale));
  return sides;
}

void remark_on_sums(NodeContext& node) {
  node.builder().remark(
      "sums of products of integers are exact, where the file multiplies numbers of f32 that are "
      "made of them");
}

IntegerOperand integers_of(const OperandIntegers& of) { return {of.elements, of.zero_point}; }

/// The sums as numbers, by the last axis.
TensorExpr scaled(const TensorExpr& sums, const std::vector<float>& factors) {
  const auto count = static_cast<std::int64_t>(factors.size());
  return cast(sums, DType::f32) *
         floats(sums.node(), count == 1 ? Integers{} : Integers{count}, factors);
}

/// The i32 of a bias that counts in what the sums count in; nullptr: it does not.
const Tensor* whole_bias(NodeContext& node, std::size_t input, const std::vector<float>& factors) {
  constexpr double tolerance = 1e-5;
  const std::shared_ptr<const OperandIntegers> bias = node.operand(input)->integers;
  if (!bias || node.type_of(*bias->elements).dtype != DType::i32) return nullptr;
  const Tensor *const elements = constant_of(*bias->elements), *const of_bias =
                                                                   constant_of(*bias->scale);
  if (elements == nullptr || of_bias == nullptr) return nullptr;
  if (bias->zero_point != nullptr) {
    const Tensor* const zero = constant_of(*bias->zero_point);
    if (zero == nullptr || std::ranges::any_of(numbers_of(*zero), [](double x) { return x != 0; }))
      return nullptr;
  }
  const std::vector<double> scales = numbers_of(*of_bias);
  for (std::size_t i = 0; i < std::max(scales.size(), factors.size()); ++i) {
    const double expected = factors[factors.size() == 1 ? 0 : i],
                 found = scales[scales.size() == 1 ? 0 : i];
    if (!(std::abs(found - expected) <= tolerance * std::abs(expected))) return nullptr;
  }
  return elements;
}

}  // namespace

std::optional<TensorExpr> dequantized_conv(NodeContext& node, Channels channels) {
  constexpr std::size_t bias = 2;
  const std::optional<Sides> sides = sides_of(node, 0);
  if (!sides) return std::nullopt;
  const Tensor* const added = node.has(bias) ? whole_bias(node, bias, sides->factors) : nullptr;
  const TensorExpr sums =
      integer_conv(node, integers_of(*sides->a), integers_of(*sides->b), 1, channels, added);
  TensorExpr y = scaled(sums, sides->factors);
  if (node.has(bias) && added == nullptr) y = y + input_expr(node, bias);
  remark_on_sums(node);
  return from_channels_last(y, channels);
}

std::optional<TensorExpr> dequantized_matmul(NodeContext& node, bool transpose_b) {
  constexpr int matrix = 2;
  if (node.type_of(1).rank() != matrix) return std::nullopt;
  const std::optional<Sides> sides = sides_of(node, transpose_b ? 0 : 1);
  if (!sides) return std::nullopt;
  const Whole a = whole_of(node, integers_of(*sides->a), node.type_of(0).rank() > 1 ? -2 : -1),
              b = whole_of(node, integers_of(*sides->b), transpose_b ? 0 : 1);
  remark_on_sums(node);
  return scaled(integer_matmul(node, a, transpose_b ? transposed(b) : b), sides->factors);
}

}  // namespace dyn::onnx
