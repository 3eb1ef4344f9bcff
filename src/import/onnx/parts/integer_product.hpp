#pragma once
// Products of small integers, computed in f32 and exact.

#include <functional>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// Whole f32 elements, at most 255 in magnitude; a constant where the file has one.
struct Whole {
  std::optional<Tensor> constant;
  std::optional<TensorExpr> value;
};

/// The input of u8 or i8, less its zero point where there is one: a scalar, or a vector along
/// `axis` (negative ones count from the end).
Whole whole_input(NodeContext& node, std::size_t input, std::size_t zero_point_input, int axis);

/// A bilinear product of two f32 values, with `terms` products in each sum: i32, exact. Where a
/// float cannot hold the sums of whole numbers up to 255, these are split into two digits, whose
/// products are computed one by one. Nothing where even that is not exact, or `terms` has no bound.
std::optional<TensorExpr> exact_product(
    NodeContext& node, const Whole& a, const Whole& b, Dim terms,
    const std::function<TensorExpr(const Whole&, const Whole&)>& multiply);

/// The elements as a value of the module.
TensorExpr value_of(NodeContext& node, const Whole& whole);

}  // namespace dyn::onnx
