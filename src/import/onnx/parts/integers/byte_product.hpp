#pragma once
// Products of bytes by constant bytes.

#include "src/import/onnx/parts/integers/integer_product.hpp"

namespace dyn::onnx {

/// Elements of u8 or i8 as u8, with its zero point, where that is a scalar or one for each row of
/// a matrix (`axis` -2, which is its only one for a vector); nothing where it is another.
std::optional<Bytes> bytes_of(NodeContext& node, const IntegerOperand& integers, int axis);

/// MatMul's product of (elements - zero point) by whole numbers of [K, N] or [K], whose greatest
/// and least element of a column lie at most 255 apart: i32. Nothing for other ones.
std::optional<TensorExpr> byte_matmul(NodeContext& node, const Bytes& a, const ConstantTensor& b,
                                      AddedColumns added);

/// The convolution of (elements - zero point), channels last, by whole numbers of [O, C, sizes...]
/// without groups: i32 [N, d..., O]. Elements outside are the zero point, a scalar.
/// Nothing for filters as above.
std::optional<TensorExpr> byte_conv(NodeContext& node, const Bytes& x, const Tensor& filters,
                                    std::vector<graph::Attr> attrs, AddedColumns added);

}  // namespace dyn::onnx
