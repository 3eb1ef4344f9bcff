#include "src/import/onnx/parts/axis_order.hpp"

#include <numeric>

namespace dyn::onnx {
namespace {

ValueId transposed(NodeContext& node, ValueId x, std::span<const std::int64_t> perm) {
  return node.add("transpose", {x}, {node.integer_list("perm", perm)});
}

}  // namespace

Tensor permuted(const Tensor& tensor, std::span<const std::int64_t> perm) {
  const std::size_t rank = tensor.dims.size(), size = size_of(tensor.dtype);
  std::vector<std::size_t> dense(rank, 1), strides, index(rank, 0);
  for (std::size_t i = rank; i-- > 1;)
    dense[i - 1] = dense[i] * static_cast<std::size_t>(tensor.dims[i]);
  Tensor result{tensor.dtype, {}, {}};
  for (const std::int64_t axis : perm) {
    result.dims.push_back(tensor.dims[static_cast<std::size_t>(axis)]);
    strides.push_back(dense[static_cast<std::size_t>(axis)]);
  }
  result.bytes.resize(tensor.bytes.size());
  std::size_t from = 0;
  for (std::size_t to = 0; to < tensor.bytes.size(); to += size) {
    tensor.bytes.copy(result.bytes.data() + to, size, from * size);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++index[axis] < static_cast<std::size_t>(result.dims[axis])) break;
      from -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return result;
}

ValueId channels_last(NodeContext& node, ValueId x) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(node.builder().type(x).rank()));
  std::iota(perm.begin() + 1, perm.end(), 2);
  perm.back() = 1;
  return transposed(node, x, perm);
}

ValueId channels_first(NodeContext& node, ValueId x) {
  std::vector<std::int64_t> perm(static_cast<std::size_t>(node.builder().type(x).rank()));
  std::iota(perm.begin() + 1, perm.end(), 0);
  perm[1] = static_cast<std::int64_t>(perm.size()) - 1;
  return transposed(node, x, perm);
}

ValueId permuted_input(NodeContext& node, std::size_t input, std::span<const std::int64_t> perm) {
  const std::string& name = node.node().input(static_cast<int>(input));
  if (const Tensor* constant = node.constant(input)) {
    Operand operand{graph::no_value, std::make_shared<const Tensor>(permuted(*constant, perm)),
                    std::nullopt};
    return node.value_of(operand, name);
  }
  const ValueId x = node.value(input);
  const graph::Value& value = node.builder().value(x);
  if (value.kind != graph::ValueKind::Weight ||
      value.weight.kind != graph::WeightSource::Kind::Splat)
    return transposed(node, x, perm);
  graph::TensorType type{value.type.dtype, {}};
  for (const std::int64_t axis : perm)
    type.dims.push_back(value.type.dims[static_cast<std::size_t>(axis)]);
  return node.builder().splat(name, std::move(type), value.weight.splat);
}

}  // namespace dyn::onnx
