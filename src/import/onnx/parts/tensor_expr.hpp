#pragma once
// Values of the module written as arithmetic, for operators that expand to many others.

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

using Integers = std::vector<std::int64_t>;
using Dims = std::vector<Dim>;

/// A tensor expression: a value of the module, and the node that it is computed for. Both sides of
/// an operator broadcast; a number takes the dtype of the value beside it.
class TensorExpr {
 public:
  TensorExpr(NodeContext& node, ValueId id) : node_(&node), id_(id) {}

  ValueId id() const { return id_; }
  NodeContext& node() const { return *node_; }
  DType dtype() const { return node_->builder().type(id_).dtype; }
  int rank() const { return node_->builder().type(id_).rank(); }
  Dims dims() const { return node_->builder().type(id_).dims; }
  /// A scalar of the same dtype.
  TensorExpr scalar(double number) const { return {*node_, node_->scalar(number, id_)}; }

 private:
  NodeContext* node_;
  ValueId id_;
};

/// The node's input.
TensorExpr input_expr(NodeContext& node, std::size_t input);
TensorExpr apply(std::string_view op, const std::vector<TensorExpr>& arguments,
                 std::vector<graph::Attr> attrs = {});

TensorExpr operator+(const TensorExpr& a, const TensorExpr& b);
TensorExpr operator-(const TensorExpr& a, const TensorExpr& b);
TensorExpr operator*(const TensorExpr& a, const TensorExpr& b);
TensorExpr operator/(const TensorExpr& a, const TensorExpr& b);
TensorExpr operator-(const TensorExpr& a);
TensorExpr operator+(const TensorExpr& a, double b);
TensorExpr operator-(const TensorExpr& a, double b);
TensorExpr operator*(const TensorExpr& a, double b);
TensorExpr operator/(const TensorExpr& a, double b);
TensorExpr operator+(double a, const TensorExpr& b);
TensorExpr operator-(double a, const TensorExpr& b);
TensorExpr operator*(double a, const TensorExpr& b);
TensorExpr operator/(double a, const TensorExpr& b);

TensorExpr abs(const TensorExpr& x);
TensorExpr floor(const TensorExpr& x);
TensorExpr ceil(const TensorExpr& x);
/// Halves go to the even integer.
TensorExpr round(const TensorExpr& x);
TensorExpr sqrt(const TensorExpr& x);
TensorExpr exp(const TensorExpr& x);
TensorExpr log(const TensorExpr& x);
TensorExpr sin(const TensorExpr& x);
TensorExpr cos(const TensorExpr& x);
TensorExpr pow(const TensorExpr& x, double exponent);
TensorExpr mod(const TensorExpr& a, const TensorExpr& b);
TensorExpr minimum(const TensorExpr& a, const TensorExpr& b);
TensorExpr maximum(const TensorExpr& a, const TensorExpr& b);
TensorExpr minimum(const TensorExpr& a, double b);
TensorExpr maximum(const TensorExpr& a, double b);

TensorExpr equal(const TensorExpr& a, const TensorExpr& b);
TensorExpr equal(const TensorExpr& a, double b);
TensorExpr less(const TensorExpr& a, const TensorExpr& b);
TensorExpr less(const TensorExpr& a, double b);
TensorExpr less_equal(const TensorExpr& a, const TensorExpr& b);
TensorExpr less_equal(const TensorExpr& a, double b);
TensorExpr both(const TensorExpr& a, const TensorExpr& b);
TensorExpr either(const TensorExpr& a, const TensorExpr& b);
TensorExpr negated(const TensorExpr& a);
TensorExpr where(const TensorExpr& condition, const TensorExpr& a, const TensorExpr& b);
TensorExpr where(const TensorExpr& condition, const TensorExpr& a, double b);
TensorExpr where(const TensorExpr& condition, double a, const TensorExpr& b);

TensorExpr cast(const TensorExpr& x, DType dtype);
TensorExpr reshape(const TensorExpr& x, const Dims& dims);
TensorExpr expand(const TensorExpr& x, const Dims& dims);
TensorExpr transpose(const TensorExpr& x, const Integers& perm);
TensorExpr slice(const TensorExpr& x, int axis, Dim start, Dim end);
TensorExpr concat(const std::vector<TensorExpr>& parts, int axis);
TensorExpr gather(const TensorExpr& data, const TensorExpr& indices, int axis);
TensorExpr matmul(const TensorExpr& a, const TensorExpr& b);
TensorExpr reduce(std::string_view op, const TensorExpr& x, const Integers& axes, bool keeps);
/// Reshapes a vector, or a tensor whose other dims are 1, to `rank` dims, where `axis` is the
/// vector's.
TensorExpr along(const TensorExpr& x, int axis, int rank);
/// x with one more dim, of 1.
TensorExpr unsqueeze(const TensorExpr& x, int axis);

/// 0, 1, ... end - 1.
TensorExpr range(NodeContext& node, Dim end, DType dtype = DType::i64);
/// The dim as a scalar.
TensorExpr size(NodeContext& node, Dim dim, DType dtype = DType::i64);
/// A constant of the module. Without a name it has the operator's.
TensorExpr constant_expr(NodeContext& node, ConstantTensor tensor, const std::string& name = {});
inline TensorExpr constant_expr(NodeContext& node, Tensor tensor, const std::string& name = {}) {
  return constant_expr(node, std::make_shared<const Tensor>(std::move(tensor)), name);
}
/// The same of elements of the dtype.
template <class Element>
TensorExpr constant_expr(NodeContext& node, DType dtype, const Integers& dims,
                         const std::vector<Element>& elements, const std::string& name = {}) {
  Tensor tensor{dtype, dims, {}};
  tensor.bytes.assign(reinterpret_cast<const char*>(elements.data()),
                      elements.size() * sizeof(Element));
  return constant_expr(node, std::move(tensor), name);
}
TensorExpr floats(NodeContext& node, const Integers& dims, const std::vector<float>& elements);
TensorExpr integers(NodeContext& node, const Integers& dims, const Integers& elements);
/// Rounded to the dtype, which is f32 or f64.
TensorExpr numbers(NodeContext& node, DType dtype, const Integers& dims,
                   const std::vector<double>& elements);

/// The product of the dims; 1 where there are none.
Dim product(NodeContext& node, const Dims& dims);
/// The indices counted from 0 to extent - 1; given ones may count from the end. An index outside of
/// the extent is an error when the model runs.
TensorExpr checked_indices(const TensorExpr& indices, Dim extent);

}  // namespace dyn::onnx
