#include "src/import/onnx/parts/before_opset7.hpp"

#include <fmt/format.h>

namespace dyn::onnx {

ValueId second_operand(NodeContext& node) {
  if (node.opset() >= broadcasts_by_shape || node.attribute("axis") == nullptr)
    return node.value(1);
  const int rank = node.type_of(0).rank(), axis = node.axis(node.integer("axis", 0), rank);
  std::vector<Dim> dims = node.type_of(1).dims;
  const int behind = rank - axis - static_cast<int>(dims.size());
  if (behind < 0)
    node.fail(fmt::format("input 1 has {} dims, which do not fit into input 0's {} from axis {} on",
                          dims.size(), rank, axis));
  if (behind == 0) return node.value(1);
  dims.insert(dims.end(), static_cast<std::size_t>(behind), node.dims().constant(1));
  return node.add("reshape", {node.value(1)}, {node.dim_list("shape", dims)});
}

void refuse_training(NodeContext& node) {
  if (node.opset() < broadcasts_by_shape && node.integer("is_test", 0) == 0)
    node.fail_unsupported("training is not supported, and is_test is not set");
}

}  // namespace dyn::onnx
