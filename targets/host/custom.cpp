// Operators of the program that have kernels.

#include "graph/ir/custom_op.hpp"
#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

std::vector<Tensor> views(const std::vector<Array>& arrays, bool are_written) {
  std::vector<Tensor> tensors;
  for (const Array& array : arrays)
    tensors.push_back(
        are_written ? Tensor::view(array.dtype, array.data, array.dims)
                    : Tensor::view(array.dtype, static_cast<const void*>(array.data), array.dims));
  return tensors;
}

/// Throws what the kernel throws, as a dyn::Error.
Outcome run_custom(const Call& call) {
  const std::vector<Tensor> inputs = views(call.inputs, false);
  std::vector<Tensor> outputs = views(call.outputs, true);
  graph::custom_op(call.node)->run(call.node, inputs, outputs);
  return Outcome::Ok;
}

constexpr Operator operators_of_program[] = {{graph::custom_op_id, run_custom}};

}  // namespace

std::span<const Operator> custom_operators() { return operators_of_program; }

}  // namespace dyn::host
