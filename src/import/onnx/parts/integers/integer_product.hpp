#pragma once
// Exact products of small integers: of bytes by constants, else computed in f32.

#include <cstring>
#include <functional>
#include <memory>

#include "src/import/onnx/parts/integers/quantization.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {

/// u8 elements, and what each of them stands above 0: a number or an i32 value, which is a scalar
/// or one for each row.
struct Bytes {
  TensorExpr elements;
  std::int64_t zero = 0;
  std::optional<TensorExpr> zero_value = std::nullopt;  ///< where it is none of the file's
};

/// Whole elements, at most 255 in magnitude: a constant of integers where the file has one, else a
/// value of f32.
struct Whole {
  ConstantTensor constant;
  std::optional<TensorExpr> value;
  std::optional<Bytes> bytes = std::nullopt;  ///< the same as `value`, where they are bytes
};
inline Whole whole_constant(Tensor tensor) {
  return {std::make_shared<const Tensor>(std::move(tensor)), std::nullopt};
}

Dims dims_of(NodeContext& node, const Whole& whole);

/// The integers function(place, element) of a tensor of integers as i16, which has them all.
template <class Function>
Tensor shorts_of(const Tensor& tensor, const Function& function) {
  Tensor result{DType::i16, tensor.dims,
                std::string(static_cast<std::size_t>(tensor.elements()) * 2, '\0')};
  for_each_element(tensor, [&](std::size_t i, auto element) {
    const auto whole = static_cast<std::int16_t>(function(i, static_cast<std::int64_t>(element)));
    std::memcpy(result.bytes.data() + i * sizeof whole, &whole, sizeof whole);
  });
  return result;
}

/// Integers with their zero point, where they have one.
struct IntegerOperand {
  std::shared_ptr<Operand> elements, zero_point;
};
/// Those of a node's inputs.
IntegerOperand integer_input(NodeContext& node, std::size_t input, std::size_t zero_point_input);

/// Elements of u8 or i8, less their zero point: a scalar, or a vector along `axis` (negative ones
/// count from the end).
Whole whole_of(NodeContext& node, const IntegerOperand& integers, int axis);
Whole whole_input(NodeContext& node, std::size_t input, std::size_t zero_point_input, int axis);

/// The same of what was quantised here.
Whole whole_of(const DynamicallyQuantized& x);

/// A matrix with its axes exchanged.
Whole transposed(const Whole& matrix);

/// The sums that make up the elements of a product.
struct Sums {
  Dim terms;                                  ///< products in each
  std::optional<std::int64_t> of_magnitudes;  ///< of constant elements of b in one sum, at most
  bool by_rows = false;  ///< parts of a along its first axis give parts of the result, by one b
};

/// The greatest sum of magnitudes of a constant matrix's columns ([.., K, N]), or of each filter
/// ([O, ..]).
std::int64_t greatest_column_sum(const Tensor& matrices);
std::int64_t greatest_filter_sum(const Tensor& filters);

/// A bilinear product of two f32 values: i32, exact. Where a float cannot hold the sums, a is split
/// into two digits, whose products are computed as more rows of one product; or b is, where it is
/// no constant; or both are. Nothing where even that is not exact, or terms has no bound.
std::optional<TensorExpr> exact_product(
    NodeContext& node, const Whole& a, const Whole& b, const Sums& sums,
    const std::function<TensorExpr(const Whole&, const Whole&)>& multiply);

/// Numbers to be added to the sums of each column: i32 of the file; nullptr: none.
using AddedColumns = const Tensor*;

/// MatMul's product of both: i32.
TensorExpr integer_matmul(NodeContext& node, const Whole& a, const Whole& b,
                          AddedColumns added = nullptr);

/// The convolution of x (`a`) and filters (`b`, of the dims of input `filters`) that the node's
/// attributes describe: i32 [N, d..., O], channels last. The channels of x stand as `channels`
/// says.
TensorExpr integer_conv(NodeContext& node, const IntegerOperand& a, const IntegerOperand& b,
                        std::size_t filters, Channels channels, AddedColumns added = nullptr);

/// The elements as a value of the module; constant ones stay in 16 bits where they are contracted.
TensorExpr value_of(NodeContext& node, const Whole& whole);

}  // namespace dyn::onnx
