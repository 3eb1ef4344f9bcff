// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.

#include "src/import/onnx/parts/integers/quantization.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/integers/narrowing.hpp"

namespace dyn::onnx {

TensorExpr quantized(const TensorExpr& x, const std::optional<TensorExpr>& zero_point,
                     DType dtype) {
  // Both sides of the sum are whole. Where it is no exact float, it is far outside of the dtype.
  const TensorExpr sum = zero_point ? round(x) + *zero_point : round(x);
  if (!is_code(dtype)) return cast(sum, dtype);  // to the nearest that it has
  return cast(minimum(maximum(sum, static_cast<double>(graph::least(dtype))),
                      static_cast<double>(graph::greatest(dtype))),
              dtype);
}

TensorExpr by_axis(const TensorExpr& x, int axis, int rank) {
  if (x.rank() == 0) return x;
  const bool is_one = std::ranges::all_of(x.dims(), [](Dim dim) { return dim.constant() == 1; });
  if (is_one) return reshape(x, {});
  if (axis < 0 || axis >= rank)
    x.node().fail(
        fmt::format("a scale or zero point of {} dims is for each element of an axis, but its "
                    "tensor has {} dims",
                    x.rank(), rank));
  return along(x, axis, rank);
}

DynamicallyQuantized dynamically_quantized(const TensorExpr& x) {
  Integers axes(static_cast<std::size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  constexpr double steps = 255;
  const TensorExpr least = minimum(reduce("reduce_min", x, axes, false), 0.0),
                   greatest = maximum(reduce("reduce_max", x, axes, false), 0.0);
  const TensorExpr reach = (greatest - least) / steps, scale = where(equal(reach, 0.0), 1.0, reach);
  const TensorExpr zero_point = minimum(maximum(round(-least / scale), 0.0), steps);
  const TensorExpr whole = minimum(maximum(round(x / scale) + zero_point, 0.0), steps);
  return {whole, scale, zero_point};
}

TensorExpr as_numbers(const TensorExpr& integers, std::size_t scale, std::size_t zero_point) {
  NodeContext& node = integers.node();
  TensorExpr whole = cast(integers, DType::i32);
  if (node.has(zero_point))
    whole = whole - by_axis(cast(input_expr(node, zero_point), DType::i32), -1, integers.rank());
  return cast(whole, DType::f32) * by_axis(input_expr(node, scale), -1, integers.rank());
}

TensorExpr number_input(NodeContext& node, const QuantizedInput& input) {
  return as_numbers(input_expr(node, input.tensor), input.scale, input.zero_point);
}

TensorExpr requantized(const TensorExpr& x, std::size_t scale, std::size_t zero_point,
                       DType dtype) {
  NodeContext& node = x.node();
  std::optional<TensorExpr> zero;
  if (node.has(zero_point))
    zero = by_axis(cast(input_expr(node, zero_point), DType::f32), -1, x.rank());
  return quantized(x / by_axis(input_expr(node, scale), -1, x.rank()), zero, dtype);
}

Tensor dequantized(const Tensor& x, const std::vector<double>& scales,
                   const std::vector<double>& zeros,
                   const std::function<std::size_t(std::size_t)>& which) {
  Tensor result{DType::f32, x.dims,
                std::string(static_cast<std::size_t>(x.elements()) * sizeof(float), '\0')};
  for_each_element(x, [&](std::size_t i, auto integer) {
    const std::size_t at = which(i);
    const float number = static_cast<float>(static_cast<double>(integer) - zeros[at]) *
                         static_cast<float>(scales[at]);
    std::memcpy(result.bytes.data() + i * sizeof number, &number, sizeof number);
  });
  return result;
}

namespace {

constexpr std::size_t scale_input = 1, zero_point_input = 2;

DType checked_integer(NodeContext& node, DType dtype) {
  if (dtype != DType::i8 && dtype != DType::u8 && dtype != DType::i16 && dtype != DType::u16 &&
      dtype != DType::i32 && !is_code(dtype))
    node.fail_unsupported(
        fmt::format("quantised elements of {} are not supported", name_of(dtype)));
  return dtype;
}

/// Tells which element of the scale and the zero point belongs to an element of x.
struct Layout {
  int rank = 0, axis = 0;
  std::int64_t block = 0;  ///< elements along the axis that share one; 0: all, or none
};

Layout layout_of(NodeContext& node) {
  const int rank = node.type_of(0).rank(), scale_rank = node.type_of(scale_input).rank();
  Layout layout{rank, 0, node.integer("block_size", 0)};
  if (layout.block < 0) node.fail("block_size must not be negative");
  if (scale_rank > 1 && layout.block == 0)
    node.fail(
        fmt::format("its scale has {} dims, but without block_size it must be a scalar or a vector",
                    scale_rank));
  if (layout.block > 0 && scale_rank != rank)
    node.fail(fmt::format("its scale has {} dims, but with block_size it must have its input's, {}",
                          scale_rank, rank));
  if (scale_rank > 0 && rank > 0) {
    const std::int64_t axis = node.integer("axis", 1);
    // A vector of one element is a scalar, whose axis nobody reads.
    const bool is_scalar = scale_rank == 1 && node.type_of(scale_input).dims[0].constant() == 1;
    layout.axis = is_scalar && (axis < -rank || axis >= rank) ? 0 : node.axis(axis, rank);
  }
  return layout;
}

/// A scale or zero point, shaped so that it broadcasts with x.
TensorExpr spread(const TensorExpr& x, const Layout& layout, Dim extent) {
  NodeContext& node = x.node();
  if (layout.block == 0) return by_axis(x, layout.axis, layout.rank);
  return gather(x, range(node, extent) / static_cast<double>(layout.block), layout.axis);
}

Dim extent_of(NodeContext& node, const Layout& layout) {
  const Dims dims = node.type_of(0).dims;
  return dims.empty() ? node.dims().constant(1) : dims[static_cast<std::size_t>(layout.axis)];
}

/// x / scale. What follows from integers by roundings is multiplied by the scale's inverse, where
/// the file has it: one more rounding, and no division.
TensorExpr over_scale(NodeContext& node, const Layout& layout, Dim extent) {
  const TensorExpr x = cast(input_expr(node, 0), node.type_of(scale_input).dtype);
  const Tensor* const known = node.constant(scale_input);
  if (known == nullptr || known->dtype != DType::f32 || !node.operand(0)->is_from_integers)
    return x / spread(input_expr(node, scale_input), layout, extent);
  node.builder().remark(
      "QuantizeLinear multiplies by the inverse of its scale, where the file divides");
  std::vector<float> inverses;
  for (const double scale : numbers_of(*known)) inverses.push_back(static_cast<float>(1 / scale));
  return x * spread(floats(node, known->dims, inverses), layout, extent);
}

/// Gives i8 by way of the u8 that products read.
void give_raised(NodeContext& node, const TensorExpr& x,
                 const std::optional<TensorExpr>& zero_point) {
  const TensorExpr zero = zero_point ? *zero_point + raised_by : x.scalar(raised_by);
  const TensorExpr raised = quantized(x, zero, DType::u8);
  Operand operand{cast(cast(raised, DType::i32) - raised_by, DType::i8).id(), nullptr,
                  std::nullopt};
  operand.raised = raised.id();
  node.give(std::move(operand));
}

/// A zero point less than 2^24 as a float is exact.
void convert_quantize(NodeContext& node) {
  const Layout layout = layout_of(node);
  const Dim extent = extent_of(node, layout);
  DType dtype = DType::u8;
  if (node.attribute("output_dtype") != nullptr && node.integer("output_dtype", 0) != 0)
    dtype = node.dtype("output_dtype");
  if (node.has(zero_point_input)) dtype = node.type_of(zero_point_input).dtype;
  checked_integer(node, dtype);
  std::optional<TensorExpr> zero_point;
  if (node.has(zero_point_input))
    zero_point = spread(cast(input_expr(node, zero_point_input), DType::f32), layout, extent);
  const TensorExpr x = over_scale(node, layout, extent);
  if (dtype == DType::i8) return give_raised(node, x, zero_point);
  if (!graph::is_narrow_float(dtype)) return node.give(quantized(x, zero_point, dtype).id());
  const Narrowing narrowing{node.integer("saturate", 1) != 0, "nearest"};
  node.give(narrowed(zero_point ? x + *zero_point : x, dtype, narrowing).id());
}

/// Constants give a constant, so that a weight is packed as any other; products by its integers
/// do not read its elements. None for other ones.
ConstantTensor known_numbers(NodeContext& node, const Layout& layout) {
  const Tensor *x = node.constant(0), *scale = node.constant(scale_input),
               *zero_point = node.has(zero_point_input) ? node.constant(zero_point_input) : nullptr;
  if (x == nullptr || scale == nullptr || (node.has(zero_point_input) && zero_point == nullptr) ||
      scale->dtype != DType::f32)
    return nullptr;
  const std::vector<double> scales = numbers_of(*scale),
                            zeros = zero_point == nullptr ? std::vector<double>(scales.size())
                                                          : numbers_of(*zero_point);
  const auto count = static_cast<std::size_t>(x->elements());
  const auto axis = static_cast<std::size_t>(layout.axis);
  const std::size_t extent = x->dims.empty() ? 1 : static_cast<std::size_t>(x->dims[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < x->dims.size(); ++i)
    inner *= static_cast<std::size_t>(x->dims[i]);
  const std::size_t block = layout.block > 0 ? static_cast<std::size_t>(layout.block) : 1,
                    blocks = (extent + block - 1) / block;
  const std::size_t needed =
      layout.block > 0 ? count / std::max<std::size_t>(extent, 1) * blocks : extent;
  if (zeros.size() != scales.size() || (scales.size() != 1 && scales.size() != needed))
    node.fail(fmt::format("it has {} scales and {} zero points, and needs 1 or {}", scales.size(),
                          zeros.size(), needed));
  const bool is_one = scales.size() == 1, has_blocks = layout.block > 0;
  const auto which = [=](std::size_t i) {
    const std::size_t place = i / inner % extent, outer = i / inner / extent;
    if (is_one) return std::size_t{0};
    return has_blocks ? (outer * blocks + place / block) * inner + i % inner : place;
  };
  return {DType::f32, x->dims, [integers = node.operand(0), scales, zeros, which] {
            return dequantized(*constant_of(*integers), scales, zeros, which);
          }};
}

/// Gives numbers, with what they come from.
void give_numbers(NodeContext& node, Operand numbers, const Layout& layout) {
  numbers.is_from_integers = true;
  if (layout.block == 0) {
    OperandIntegers integers{node.operand(0), node.operand(scale_input), nullptr, layout.axis};
    if (node.has(zero_point_input)) integers.zero_point = node.operand(zero_point_input);
    numbers.integers = std::make_shared<const OperandIntegers>(std::move(integers));
  }
  node.give(std::move(numbers));
}

/// The elements less their zero point, exactly.
TensorExpr whole_numbers(NodeContext& node, const Layout& layout, Dim extent) {
  const DType exact = graph::is_narrow_float(node.type(0).dtype) ? DType::f32 : DType::i32;
  const bool has_zero = node.has(zero_point_input);
  const auto without_zero = [&](const TensorExpr& whole) {
    return has_zero
               ? whole - spread(cast(input_expr(node, zero_point_input), exact), layout, extent)
               : whole;
  };
  const graph::ValueId raised = node.operand(0)->raised;
  if (raised == graph::no_value) return without_zero(cast(input_expr(node, 0), exact));
  const TensorExpr whole = cast(TensorExpr{node, raised}, exact);
  const Tensor* const known = has_zero ? node.constant(zero_point_input) : nullptr;
  if (known == nullptr || known->elements() != 1) return without_zero(whole - raised_by);
  const double zero = numbers_of(*known).front() + raised_by;
  return zero == 0 ? whole : whole - zero;
}

void convert_dequantize(NodeContext& node) {
  checked_integer(node, node.type_of(0).dtype);
  const Layout layout = layout_of(node);
  if (ConstantTensor known = known_numbers(node, layout))
    return give_numbers(node, Operand{graph::no_value, std::move(known), std::nullopt}, layout);
  const Dim extent = extent_of(node, layout);
  const TensorExpr whole = whole_numbers(node, layout, extent);
  const TensorExpr scale = spread(input_expr(node, scale_input), layout, extent);
  const TensorExpr numbers = cast(whole, scale.dtype()) * scale;
  give_numbers(node, Operand{numbers.id(), nullptr, std::nullopt}, layout);
}

void convert_dynamic_quantize(NodeContext& node) {
  const DynamicallyQuantized y = dynamically_quantized(input_expr(node, 0));
  node.give(cast(y.whole, DType::u8).id());
  node.give(y.scale.id(), 1);
  node.give(cast(y.zero_point, DType::u8).id(), 2);
}

}  // namespace

Family quantization_operators() {
  return {{"QuantizeLinear", convert_quantize, Halves::InF32},
          {"DequantizeLinear", convert_dequantize, Halves::InF32, 1},
          {"DynamicQuantizeLinear", convert_dynamic_quantize}};
}

}  // namespace dyn::onnx
