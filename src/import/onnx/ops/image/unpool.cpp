// MaxUnpool.

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

constexpr std::size_t places_input = 1, shape_input = 2;

/// Places count the elements of the tensor that the windows were taken from; a larger output has
/// more zeros at the end of each axis.
void convert_max_unpool(NodeContext& node) {
  const TensorExpr x = input_expr(node, 0);
  const Dims extents = extents_of(node);
  const SlidingWindows windows =
      windows_of(node, node.integers("kernel_shape").value_or(Integers{}), extents);
  Dims dims{x.dims()[0], x.dims()[1]};
  for (std::size_t i = 0; i < extents.size(); ++i)
    dims.push_back((extents[i] - 1) * windows.strides[i] + windows.sizes[i] - windows.before[i] -
                   windows.after[i]);
  const Dims flat{product(node, x.dims())};
  const TensorExpr zeros = expand(x.scalar(0), {product(node, dims)});
  TensorExpr result =
      reshape(apply("scatter_elements",
                    {zeros, reshape(input_expr(node, places_input), flat), reshape(x, flat)}),
              dims);
  if (node.has(shape_input)) {
    const Dims wanted = node.need_dims(shape_input, "its output shape");
    if (wanted.size() != dims.size())
      node.fail(
          fmt::format("its output shape has {} elements for {} dims", wanted.size(), dims.size()));
    const Dims before(dims.size(), node.dims().constant(0));
    Dims after;
    for (std::size_t i = 0; i < dims.size(); ++i) after.push_back(wanted[i] - dims[i]);
    result =
        apply("pad", {result}, {node.dim_list("before", before), node.dim_list("after", after)});
  }
  node.give(result.id());
}

}  // namespace

Family unpool_operators() { return {{"MaxUnpool", convert_max_unpool}}; }

}  // namespace dyn::onnx
