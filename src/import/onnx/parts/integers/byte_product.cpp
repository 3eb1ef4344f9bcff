#include "src/import/onnx/parts/integers/byte_product.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/ir/op.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/products.hpp"
#include "src/import/onnx/parts/windows/convolution.hpp"

namespace dyn::onnx {
namespace {

/// Elements along K that targets multiply at once, at most.
constexpr std::int64_t group = graph::product_group;
constexpr std::int64_t greatest_byte = 127, least_byte = -128;

/// A constant matrix as i8, each column less a number that brings it there.
struct ByteMatrix {
  std::int64_t rows, columns;
  std::int64_t depth;  ///< rows that have elements of a; the left side has zeros for others
  std::vector<std::int32_t> subtracted;  ///< by column
  std::vector<std::int32_t> sums;        ///< by column, of its elements as i8

  bool is_shifted() const {
    return std::ranges::any_of(subtracted, [](std::int32_t by) { return by != 0; });
  }
};

/// The number whose subtraction brings a column of such a range into i8.
std::optional<std::int64_t> shift_of(std::int64_t low, std::int64_t high) {
  if (high - low > greatest_byte - least_byte) return std::nullopt;
  return high > greatest_byte ? high - greatest_byte : std::min<std::int64_t>(low - least_byte, 0);
}

std::optional<ByteMatrix> byte_matrix(const Tensor& b, std::int64_t depth) {
  const bool is_vector = b.dims.size() == 1;
  ByteMatrix matrix{b.dims[0], is_vector ? 1 : b.dims[1], depth, {}, {}};
  const auto columns = static_cast<std::size_t>(matrix.columns);
  struct Column {
    std::int64_t low, high, sum = 0;
  };
  std::vector<Column> found(columns, {std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min()});
  for_each_element(b, [&](std::size_t i, auto each) {
    const auto element = static_cast<std::int64_t>(each);
    Column& column = found[i % columns];
    column.low = std::min(column.low, element);
    column.high = std::max(column.high, element);
    column.sum += element;
  });
  for (const Column& column : found) {
    const std::optional<std::int64_t> by = shift_of(column.low, column.high);
    if (!by) return std::nullopt;
    matrix.subtracted.push_back(static_cast<std::int32_t>(*by));
    matrix.sums.push_back(static_cast<std::int32_t>(column.sum - *by * depth));
  }
  return matrix;
}

/// Its elements as i8, less what is subtracted from each column; zeros behind them, up to these
/// dims.
Tensor bytes_of_matrix(const Tensor& b, const std::vector<std::int32_t>& subtracted,
                       const Integers& dims) {
  Tensor bytes{DType::i8, dims, {}};
  bytes.bytes.assign(static_cast<std::size_t>(bytes.elements()), '\0');
  for_each_element(b, [&](std::size_t i, auto each) {
    bytes.bytes[i] =
        static_cast<char>(static_cast<std::int64_t>(each) - subtracted[i % subtracted.size()]);
  });
  return bytes;
}

/// [N] of i32.
TensorExpr columns_expr(NodeContext& node, const std::vector<std::int32_t>& of_columns) {
  return constant_expr(node, DType::i32, {static_cast<std::int64_t>(of_columns.size())},
                       of_columns);
}

/// Zeros behind the last element of each row, up to whole groups.
TensorExpr with_whole_groups(const TensorExpr& a, std::int64_t depth) {
  const std::int64_t missing = (group - depth % group) % group;
  if (missing == 0) return a;
  NodeContext& node = a.node();
  const auto none = node.dims().constant(0);
  Dims before(static_cast<std::size_t>(a.rank()), none), after = before;
  after.back() = node.dims().constant(missing);
  return apply("pad", {a}, {node.dim_list("before", before), node.dim_list("after", after)});
}

/// By what the numbers that were subtracted from columns are multiplied: the sums of `b.depth`
/// elements less their zero points, i32 of one column.
TensorExpr of_subtracted(const TensorExpr& sums_of_rows, const Bytes& a, const ByteMatrix& b) {
  const auto terms = static_cast<double>(b.depth);
  if (a.zero_value) return sums_of_rows - *a.zero_value * terms;
  return a.zero == 0 ? sums_of_rows : sums_of_rows - static_cast<double>(a.zero) * terms;
}

/// i32 sums of elements * weights, without what zero points add, with what was subtracted from the
/// columns, and with what is to be added.
TensorExpr with_columns(TensorExpr sums, const Bytes& a, const ByteMatrix& b, AddedColumns added,
                        const std::optional<TensorExpr>& of_rows) {
  NodeContext& node = sums.node();
  if (of_rows) sums = sums + *of_rows * columns_expr(node, b.subtracted);
  if (a.zero_value) sums = sums - *a.zero_value * columns_expr(node, b.sums);
  const std::int64_t zero = a.zero_value ? 0 : a.zero;
  if (zero == 0 && added == nullptr) return sums;
  const std::vector<double> more =
      added == nullptr ? std::vector<double>(b.sums.size()) : numbers_of(*added);
  std::vector<std::int32_t> all;
  for (std::size_t n = 0; n < b.sums.size(); ++n) {
    all.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(more[n]) -
                                            zero * std::int64_t{b.sums[n]}));
  }
  return sums + columns_expr(node, all);
}

}  // namespace

std::optional<Bytes> bytes_of(NodeContext& node, const IntegerOperand& integers, int axis) {
  constexpr auto sign = static_cast<std::int64_t>(raised_by);
  const graph::ValueId raised = integers.elements->raised;
  const TensorExpr elements{node, node.value_of(*integers.elements)};
  const bool is_signed = elements.dtype() == DType::i8;
  Bytes bytes{elements, is_signed ? sign : 0};
  if (raised != graph::no_value)
    bytes.elements = {node, raised};
  else if (is_signed)
    bytes.elements = cast(cast(elements, DType::i32) + static_cast<double>(sign), DType::u8);
  if (integers.zero_point == nullptr) return bytes;
  const TensorExpr zero{node, node.value_of(*integers.zero_point)};
  const bool is_one = std::ranges::all_of(zero.dims(), [](Dim dim) { return dim.constant() == 1; });
  if (const Tensor* known = constant_of(*integers.zero_point); known != nullptr && is_one) {
    bytes.zero += static_cast<std::int64_t>(numbers_of(*known).front());
    return bytes;
  }
  const bool by_rows =
      axis == -2 && elements.rank() >= 2 &&
      (zero.rank() == 1 || (zero.rank() == elements.rank() && zero.dims().back().constant() == 1));
  if (!is_one && !by_rows) return std::nullopt;
  const TensorExpr value = cast(zero, DType::i32);
  const TensorExpr placed =
      is_one ? reshape(value, {})
             : (zero.rank() == 1 ? by_axis(value, elements.rank() - 2, elements.rank()) : value);
  bytes.zero_value = is_signed ? placed + static_cast<double>(sign) : placed;
  return bytes;
}

std::optional<TensorExpr> byte_matmul(NodeContext& node, const Bytes& a, const ConstantTensor& b,
                                      AddedColumns added) {
  if (b.dims().empty() || b.dims().size() > 2 || b.bytes() == 0) return std::nullopt;
  const bool is_row = a.elements.rank() == 1, is_column = b.dims().size() == 1;
  if (is_row && a.zero_value && a.zero_value->rank() > 0) return std::nullopt;
  const std::optional<ByteMatrix> matrix = byte_matrix(*b.passing(), b.dims()[0]);
  if (!matrix) return std::nullopt;
  const TensorExpr rows = with_whole_groups(as_matrix(a.elements, true), matrix->rows);
  const std::int64_t depth = (matrix->rows + group - 1) / group * group;
  const Integers dims{depth, matrix->columns};
  const bool is_as_given = b.dtype() == DType::i8 && b.dims() == dims && !matrix->is_shifted();
  const auto bytes = [b, subtracted = matrix->subtracted, dims] {
    return bytes_of_matrix(*b.passing(), subtracted, dims);
  };
  const TensorExpr weights =
      constant_expr(node, is_as_given ? b : ConstantTensor(DType::i8, dims, bytes));
  // Sums of rows come before the product, so that its epilogue can add them.
  std::optional<TensorExpr> of_rows;
  if (matrix->is_shifted())
    of_rows = of_subtracted(reduce("reduce_sum", cast(rows, DType::i32), {rows.rank() - 1}, true),
                            a, *matrix);
  const TensorExpr sums = apply("matmul", {rows, weights});
  return without_vectors(with_columns(sums, a, *matrix, added, of_rows), is_row, is_column);
}

namespace {

/// [O, C, sizes...] as [sizes..., C, O], with channels of 0 up to whole groups.
Tensor in_whole_groups(const Tensor& filters) {
  Tensor turned = permuted(filters, filter_order(filters.dims.size()));
  const std::size_t rank = turned.dims.size();
  const auto channels = static_cast<std::size_t>(turned.dims[rank - 2]),
             results = static_cast<std::size_t>(turned.dims[rank - 1]) * size_of(turned.dtype);
  const std::size_t missing = (group - channels % group) % group;
  if (missing == 0) return turned;
  Tensor padded{turned.dtype, turned.dims, {}};
  padded.dims[rank - 2] += static_cast<std::int64_t>(missing);
  for (std::size_t at = 0; at < turned.bytes.size(); at += channels * results) {
    padded.bytes.append(turned.bytes, at, channels * results);
    padded.bytes.append(missing * results, '\0');
  }
  return padded;
}

/// The image with its padding, which is the zero point; the attributes lose it.
TensorExpr with_padding(const TensorExpr& x, const Bytes& of, std::vector<graph::Attr>& attrs) {
  NodeContext& node = x.node();
  const auto none = node.dims().constant(0);
  Dims before(static_cast<std::size_t>(x.rank()), none), after = before;
  bool is_padded = false;
  const auto place = [&](const char* name, Dims& pads) {
    const auto found = std::ranges::find(attrs, name, &graph::Attr::name);
    if (found == attrs.end()) return;
    const auto& given = std::get<std::vector<Dim>>(found->value);
    for (std::size_t i = 0; i < given.size(); ++i) {
      pads[1 + i] = given[i];
      is_padded = is_padded || given[i].constant() != 0;
    }
    attrs.erase(found);
  };
  place("before", before);
  place("after", after);
  if (!is_padded) return x;
  const std::vector<graph::Attr> pads{node.dim_list("before", before),
                                      node.dim_list("after", after)};
  if (!of.zero_value) {
    std::vector<graph::Attr> filled = pads;
    filled.push_back({"value", static_cast<double>(of.zero)});
    return apply("pad", {x}, filled);
  }
  return cast(apply("pad", {cast(x, DType::i32) - *of.zero_value}, pads) + *of.zero_value,
              DType::u8);
}

/// The sums of the elements of each window, i32 [N, d..., 1], by windows of these sizes, whose sums
/// are exact floats.
TensorExpr window_sums(const TensorExpr& x, const Integers& sizes,
                       const std::vector<graph::Attr>& attrs) {
  NodeContext& node = x.node();
  const TensorExpr of_channels = reduce("reduce_sum", cast(x, DType::f32), {x.rank() - 1}, true);
  std::int64_t taps = 1;
  for (const std::int64_t size : sizes) taps *= size;
  Integers dims = sizes;
  dims.insert(dims.end(), {1, 1});
  const TensorExpr ones =
      floats(node, dims, std::vector<float>(static_cast<std::size_t>(taps), 1.0F));
  return cast(apply("conv", {of_channels, ones}, attrs), DType::i32);
}

}  // namespace

std::optional<TensorExpr> byte_conv(NodeContext& node, const Bytes& x, const Tensor& filters,
                                    std::vector<graph::Attr> attrs, AddedColumns added) {
  constexpr std::int64_t greatest_zero = 255, most_terms = (1 << 24) / 255;
  if (filters.elements() == 0 || (!x.zero_value && (x.zero < 0 || x.zero > greatest_zero)) ||
      (x.zero_value && x.zero_value->rank() > 0))
    return std::nullopt;
  Tensor turned = in_whole_groups(filters);
  const Integers dims = turned.dims;
  turned.dims = {turned.elements() / dims.back(), dims.back()};
  const std::optional<ByteMatrix> matrix =
      byte_matrix(turned, filters.elements() / filters.dims[0]);
  if (!matrix || (matrix->is_shifted() && matrix->depth > most_terms)) return std::nullopt;
  const bool pads = x.zero_value || matrix->is_shifted();
  TensorExpr image = pads ? with_padding(x.elements, x, attrs) : x.elements;
  const TensorExpr weights = constant_expr(node, bytes_of_matrix(turned, matrix->subtracted, dims));
  std::optional<TensorExpr> of_rows;
  if (matrix->is_shifted())
    of_rows = of_subtracted(window_sums(image, {dims.begin(), dims.end() - 2}, attrs), x, *matrix);
  if (!pads) attrs.push_back({"value", node.dims().constant(x.zero)});
  const TensorExpr sums =
      apply("conv", {with_whole_groups(image, filters.dims[1]), weights}, std::move(attrs));
  return with_columns(sums, x, *matrix, added, of_rows);
}

}  // namespace dyn::onnx
