#include "src/import/onnx/parts/integers/integer_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "graph/dims/checked.hpp"
#include "graph/ir/codes.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integers/byte_product.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/products.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

/// All integers up to this one are floats.
constexpr std::int64_t exact_floats = 1 << 24;
constexpr std::int64_t greatest_element = 255;
/// An element is high * base + low, with |high| and |low| of at most the base.
constexpr std::int64_t base = 16;

Whole high_digit(const Whole& whole) {
  if (whole.constant)
    return whole_constant(shorts_of(
        *whole.constant, [](std::size_t, std::int64_t x) { return graph::floor_divide(x, base); }));
  return {nullptr, floor(*whole.value / static_cast<double>(base))};
}

Whole low_digit(const Whole& whole) {
  if (whole.constant)
    return whole_constant(shorts_of(*whole.constant, [](std::size_t, std::int64_t x) {
      return x - base * graph::floor_divide(x, base);
    }));
  return {nullptr, *whole.value -
                       floor(*whole.value / static_cast<double>(base)) * static_cast<double>(base)};
}

/// The element of a vector along an axis that belongs to element i of the tensor.
std::size_t place_along(const Tensor& tensor, std::size_t axis, std::size_t i) {
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < tensor.dims.size(); ++d)
    inner *= static_cast<std::size_t>(tensor.dims[d]);
  return i / inner % static_cast<std::size_t>(tensor.dims[axis]);
}

}  // namespace

Dims dims_of(NodeContext& node, const Whole& whole) {
  if (whole.value) return whole.value->dims();
  Dims dims;
  for (const std::int64_t dim : whole.constant.dims()) dims.push_back(node.dims().constant(dim));
  return dims;
}

Whole whole_of(const DynamicallyQuantized& x) {
  return {nullptr, x.whole - x.zero_point,
          Bytes{cast(x.whole, DType::u8), 0, cast(x.zero_point, DType::i32)}};
}

Whole transposed(const Whole& matrix) {
  constexpr std::int64_t exchanged[] = {1, 0};
  if (matrix.constant) return whole_constant(permuted(*matrix.constant, exchanged));
  Whole result{nullptr, transpose(*matrix.value, {1, 0})};
  const bool is_one =
      matrix.bytes && (!matrix.bytes->zero_value || matrix.bytes->zero_value->rank() == 0);
  if (is_one) {
    result.bytes = matrix.bytes;
    result.bytes->elements = transpose(matrix.bytes->elements, {1, 0});
  }
  return result;
}

IntegerOperand integer_input(NodeContext& node, std::size_t input, std::size_t zero_point_input) {
  return {node.operand(input),
          node.has(zero_point_input) ? node.operand(zero_point_input) : nullptr};
}

Whole whole_input(NodeContext& node, std::size_t input, std::size_t zero_point_input, int axis) {
  return whole_of(node, integer_input(node, input, zero_point_input), axis);
}

Whole whole_of(NodeContext& node, const IntegerOperand& integers, int axis) {
  const graph::TensorType type = node.type_of(*integers.elements);
  if (type.dtype != DType::u8 && type.dtype != DType::i8)
    node.fail_unsupported(fmt::format("elements of {} are not supported; they must be u8 or i8",
                                      name_of(type.dtype)));
  const bool has_zero_point = integers.zero_point != nullptr;
  const Tensor* constant = constant_of(*integers.elements);
  const Tensor* zero_point = has_zero_point ? constant_of(*integers.zero_point) : nullptr;
  const int place = axis < 0 ? axis + type.rank() : axis;
  if (constant != nullptr &&
      (!has_zero_point || (zero_point != nullptr && zero_point->dims.size() <= 1))) {
    const std::vector<double> zeros =
        has_zero_point ? numbers_of(*zero_point) : std::vector<double>{0};
    if (zeros.size() != 1 && (place < 0 || static_cast<std::int64_t>(zeros.size()) !=
                                               constant->dims[static_cast<std::size_t>(place)]))
      node.fail(fmt::format("it has {} zero points for a tensor with other dims", zeros.size()));
    if (std::ranges::all_of(zeros, [](double zero) { return zero == 0; }))
      return {integers.elements->constant, std::nullopt};
    return {{DType::i16, constant->dims,
             [given = integers.elements->constant, zeros, place] {
               return shorts_of(*given, [&](std::size_t i, std::int64_t x) {
                 const std::size_t at =
                     zeros.size() == 1 ? 0
                                       : place_along(*given, static_cast<std::size_t>(place), i);
                 return x - static_cast<std::int64_t>(zeros[at]);
               });
             }},
            std::nullopt};
  }
  const TensorExpr elements{node, node.value_of(*integers.elements)};
  const TensorExpr numbers = cast(elements, DType::f32);
  const std::optional<Bytes> bytes = bytes_of(node, integers, axis);
  if (!has_zero_point) return {nullptr, numbers, bytes};
  const TensorExpr zero = cast(TensorExpr{node, node.value_of(*integers.zero_point)}, DType::f32);
  return {nullptr, numbers - (zero.rank() > 1 ? zero : by_axis(zero, place, type.rank())), bytes};
}

namespace {

/// bf16 has all whole numbers up to 256.
Tensor as_bf16(const Tensor& whole) {
  Tensor result{DType::bf16, whole.dims,
                std::string(static_cast<std::size_t>(whole.elements()) * 2, '\0')};
  for_each_element(whole, [&](std::size_t i, auto element) {
    const std::uint16_t code = graph::code_of_float(DType::bf16, static_cast<double>(element));
    std::memcpy(result.bytes.data() + i * sizeof code, &code, sizeof code);
  });
  return result;
}

}  // namespace

TensorExpr value_of(NodeContext& node, const Whole& whole) {
  if (whole.value) return *whole.value;
  return cast(constant_expr(node, as_bf16(*whole.constant)), DType::f32);
}

namespace {

std::int64_t greatest(const std::vector<std::int64_t>& sums) {
  return sums.empty() ? 0 : *std::ranges::max_element(sums);
}

template <class Integer>
std::int64_t magnitude(Integer whole) {
  return std::abs(static_cast<std::int64_t>(whole));
}

}  // namespace

std::int64_t greatest_column_sum(const Tensor& matrices) {
  const auto columns = static_cast<std::size_t>(matrices.dims.back()),
             rows = matrices.dims.size() > 1
                        ? static_cast<std::size_t>(matrices.dims[matrices.dims.size() - 2])
                        : std::size_t{1};
  if (matrices.dims.size() == 1) {
    std::int64_t sum = 0;
    for_each_element(matrices, [&](std::size_t, auto each) { sum += magnitude(each); });
    return sum;
  }
  std::vector<std::int64_t> sums(rows > 0 ? static_cast<std::size_t>(matrices.elements()) / rows
                                          : 0);
  for_each_element(matrices, [&](std::size_t i, auto each) {
    sums[i / (rows * columns) * columns + i % columns] += magnitude(each);
  });
  return greatest(sums);
}

std::int64_t greatest_filter_sum(const Tensor& filters) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(filters.dims[0]));
  const std::size_t all = static_cast<std::size_t>(filters.elements());
  for_each_element(
      filters, [&](std::size_t i, auto each) { sums[i / (all / sums.size())] += magnitude(each); });
  return greatest(sums);
}

std::optional<TensorExpr> exact_product(
    NodeContext& node, const Whole& a, const Whole& b, const Sums& sums,
    const std::function<TensorExpr(const Whole&, const Whole&)>& multiply) {
  const std::int64_t most = graph::bounds(node.builder().resolve(sums.terms)).high;
  const auto product = [&](const Whole& left, const Whole& right) {
    return cast(multiply(left, right), DType::i32);
  };
  const std::int64_t of_b =
      sums.of_magnitudes.value_or(graph::saturating_multiply(most, greatest_element));
  if (of_b <= exact_floats / greatest_element) return product(a, b);
  if (b.constant && a.value && sums.by_rows && of_b <= exact_floats / base) {
    const TensorExpr digits = concat({*high_digit(a).value, *low_digit(a).value}, 0),
                     both = product({nullptr, digits}, b);
    const Dim rows = a.value->dims()[0], none = node.dims().constant(0);
    return slice(both, 0, none, rows) * static_cast<double>(base) + slice(both, 0, rows, rows * 2);
  }
  const Whole high = high_digit(b), low = low_digit(b);
  constexpr auto scale = static_cast<double>(base);
  if (most <= exact_floats / (greatest_element * base))
    return product(a, high) * scale + product(a, low);
  if (most > exact_floats / (base * base)) return std::nullopt;
  const Whole a_high = high_digit(a), a_low = low_digit(a);
  return (product(a_high, high) * scale + product(a_high, low) + product(a_low, high)) * scale +
         product(a_low, low);
}

namespace {

TensorExpr with_added(const TensorExpr& sums, AddedColumns added) {
  if (added == nullptr) return sums;
  return sums + constant_expr(sums.node(), *added);
}

}  // namespace

TensorExpr integer_matmul(NodeContext& node, const Whole& a, const Whole& b, AddedColumns added) {
  const Dims a_dims = dims_of(node, a);
  const std::size_t b_rank = dims_of(node, b).size();
  if (a_dims.empty() || b_rank == 0) node.fail("its operands need at least one dim");
  const auto multiply = [&](const Whole& left, const Whole& right) {
    return numpy_matmul(value_of(node, left), value_of(node, right));
  };
  if (a.bytes && b.constant) {
    if (const std::optional<TensorExpr> product = byte_matmul(node, *a.bytes, b.constant, added))
      return *product;
  }
  Sums sums{a_dims.back(), std::nullopt, a_dims.size() > 1 && b_rank <= 2};
  if (b.constant) sums.of_magnitudes = greatest_column_sum(*b.constant);
  if (const std::optional<TensorExpr> product = exact_product(node, a, b, sums, multiply))
    return with_added(*product, added);
  const auto as_integers = [&](const Whole& whole) {
    return Whole{nullptr, cast(value_of(node, whole), DType::i32)};
  };
  return with_added(multiply(as_integers(a), as_integers(b)), added);
}

TensorExpr integer_conv(NodeContext& node, const IntegerOperand& a, const IntegerOperand& b,
                        std::size_t filters, Channels channels, AddedColumns added) {
  const SlidingWindows windows = filter_windows(node, filters, channels);
  const Integers order = filter_order(windows.sizes.size() + 2);
  std::vector<graph::Attr> attrs = conv_attrs_of(node, windows, node.integer("group", 1));
  Whole x = whole_of(node, a, -1);
  const Whole w = whole_of(node, b, 0);
  if (x.bytes && w.constant && node.integer("group", 1) == 1) {
    Bytes image = *x.bytes;
    image.elements = to_channels_last(image.elements, channels);
    if (const std::optional<TensorExpr> sums = byte_conv(node, image, *w.constant, attrs, added))
      return *sums;
  }
  const auto multiply = [&](const Whole& image, const Whole& by) {
    const TensorExpr turned = by.constant
                                  ? value_of(node, whole_constant(permuted(*by.constant, order)))
                                  : transpose(*by.value, order);
    return apply("conv", {to_channels_last(value_of(node, image), channels), turned}, attrs);
  };
  // The bytes that memory holds are the ones without a sign.
  if (x.bytes && !x.bytes->zero_value) {
    const TensorExpr numbers = cast(x.bytes->elements, DType::f32);
    x.value = x.bytes->zero == 0 ? numbers : numbers - static_cast<double>(x.bytes->zero);
  }
  const Dims dims = node.type_of(filters).dims;
  const Dim terms = product(node, {dims.begin() + 1, dims.end()});
  Sums sums{terms, std::nullopt, true};
  if (w.constant) sums.of_magnitudes = greatest_filter_sum(*w.constant);
  const std::optional<TensorExpr> result = exact_product(node, x, w, sums, multiply);
  if (!result)
    node.fail_unsupported(
        fmt::format("sums of {} products are not supported", graph::to_string(terms)));
  return with_added(*result, added);
}

}  // namespace dyn::onnx
