#pragma once
// Values of the module written as arithmetic, for operators that are made of many others.

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

using Integers = std::vector<std::int64_t>;
using Dims = std::vector<Dim>;

/// A value and the node that it is computed for. Both sides of an operator broadcast; a number
/// takes the dtype of the value beside it.
class Term {
 public:
  Term(NodeContext& node, ValueId id) : node_(&node), id_(id) {}

  ValueId id() const { return id_; }
  NodeContext& node() const { return *node_; }
  DType dtype() const { return node_->builder().type(id_).dtype; }
  int rank() const { return node_->builder().type(id_).rank(); }
  Dims dims() const { return node_->builder().type(id_).dims; }
  /// The scalar with its dtype.
  Term scalar(double number) const { return {*node_, node_->scalar(number, id_)}; }

 private:
  NodeContext* node_;
  ValueId id_;
};

/// The node's input.
Term term(NodeContext& node, std::size_t input);
Term apply(std::string_view op, const std::vector<Term>& arguments,
           std::vector<graph::Attr> attrs = {});

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);
Term operator+(const Term& a, double b);
Term operator-(const Term& a, double b);
Term operator*(const Term& a, double b);
Term operator/(const Term& a, double b);
Term operator+(double a, const Term& b);
Term operator-(double a, const Term& b);
Term operator*(double a, const Term& b);
Term operator/(double a, const Term& b);

Term abs(const Term& x);
Term floor(const Term& x);
Term ceil(const Term& x);
/// Halves to the even integer.
Term round(const Term& x);
Term sqrt(const Term& x);
Term exp(const Term& x);
Term log(const Term& x);
Term sin(const Term& x);
Term cos(const Term& x);
Term pow(const Term& x, double exponent);
Term mod(const Term& a, const Term& b);
Term minimum(const Term& a, const Term& b);
Term maximum(const Term& a, const Term& b);
Term minimum(const Term& a, double b);
Term maximum(const Term& a, double b);

Term equal(const Term& a, const Term& b);
Term equal(const Term& a, double b);
Term less(const Term& a, const Term& b);
Term less(const Term& a, double b);
Term less_equal(const Term& a, const Term& b);
Term less_equal(const Term& a, double b);
Term both(const Term& a, const Term& b);
Term either(const Term& a, const Term& b);
Term negated(const Term& a);
Term where(const Term& condition, const Term& a, const Term& b);
Term where(const Term& condition, const Term& a, double b);
Term where(const Term& condition, double a, const Term& b);

Term cast(const Term& x, DType dtype);
Term reshape(const Term& x, const Dims& dims);
Term expand(const Term& x, const Dims& dims);
Term transpose(const Term& x, const Integers& perm);
Term slice(const Term& x, int axis, Dim start, Dim end);
Term concat(const std::vector<Term>& parts, int axis);
Term gather(const Term& data, const Term& indices, int axis);
Term matmul(const Term& a, const Term& b);
Term reduce(std::string_view op, const Term& x, const Integers& axes, bool keeps);
/// A vector, or a tensor whose other dims are 1, as one of `rank` dims of which `axis` is the
/// vector's.
Term along(const Term& x, int axis, int rank);
/// x with one more dim, of 1.
Term unsqueeze(const Term& x, int axis);

/// 0, 1, ... below the end.
Term range(NodeContext& node, Dim end, DType dtype = DType::i64);
/// A scalar that sizes give.
Term size(NodeContext& node, Dim dim, DType dtype = DType::i64);
/// Constants of the module.
Term floats(NodeContext& node, const Integers& dims, const std::vector<float>& elements);
Term integers(NodeContext& node, const Integers& dims, const Integers& elements);

/// The product; 1 where there are none.
Dim product(NodeContext& node, const Dims& dims);
/// Indices from 0 to extent - 1, of which the given ones may count from the end; one that is
/// outside of the extent is an error when the model runs.
Term checked_indices(const Term& indices, Dim extent);

}  // namespace dyn::onnx
