// Moves elements between axes: blocks of pixels to channels and back, columns of windows to the
// image that they cover.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/tensor_expr.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

std::int64_t block_of(NodeContext& node) {
  const std::int64_t block = node.integer("blocksize", 0);
  if (block < 1) node.fail("blocksize must be at least 1");
  return block;
}

/// Channels are [block, block, C], or with mode CRD [C, block, block].
void convert_depth_to_space(NodeContext& node) {
  node.require_rank(0, 4);
  const TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  const std::int64_t block = block_of(node);
  const Dim side = node.dims().constant(block), channels = floordiv(dims[1], side * block);
  const std::string mode = node.word("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.fail(fmt::format("mode {} is unknown", mode));
  const bool blocks_first = mode == "DCR";
  const TensorExpr apart =
      reshape(x, blocks_first ? Dims{dims[0], side, side, channels, dims[2], dims[3]}
                              : Dims{dims[0], channels, side, side, dims[2], dims[3]});
  const TensorExpr transposed =
      transpose(apart, blocks_first ? Integers{0, 3, 4, 1, 5, 2} : Integers{0, 1, 4, 2, 5, 3});
  node.give(reshape(transposed, {dims[0], channels, dims[2] * block, dims[3] * block}).id());
}

void convert_space_to_depth(NodeContext& node) {
  node.require_rank(0, 4);
  const TensorExpr x = input_expr(node, 0);
  const Dims dims = x.dims();
  const std::int64_t block = block_of(node);
  const Dim side = node.dims().constant(block), height = floordiv(dims[2], side),
            width = floordiv(dims[3], side);
  const std::string mode = node.word("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") node.fail(fmt::format("mode {} is unknown", mode));
  const TensorExpr transposed =
      transpose(reshape(x, {dims[0], dims[1], height, side, width, side}),
                mode == "DCR" ? Integers{0, 3, 5, 1, 2, 4} : Integers{0, 1, 3, 5, 2, 4});
  node.give(reshape(transposed, {dims[0], dims[1] * block * block, height, width}).id());
}

/// One axis of Col2Im: how many taps a window has, and how many windows there are.
struct Columns {
  std::int64_t taps, stride, dilation;
  Dim windows, before, extent;
};

/// [..., taps, windows, ...] with taps at `axis`: adds up the windows that cover each element of
/// the image's axis.
TensorExpr summed(const TensorExpr& x, const Columns& columns, int axis) {
  NodeContext& node = x.node();
  Dims together = x.dims();
  together.erase(together.begin() + axis);
  together[static_cast<std::size_t>(axis)] = columns.windows * columns.taps;
  const TensorExpr tap = along(range(node, node.dims().constant(columns.taps)), 0, 2);
  const TensorExpr windows = size(node, columns.windows),
                   stride = size(node, node.dims().constant(columns.stride));
  // A tap lies on an element where the distance is a whole number of strides.
  const TensorExpr distance = along(range(node, columns.extent), 1, 2) +
                              size(node, columns.before) -
                              tap * static_cast<double>(columns.dilation);
  const TensorExpr window = distance / stride;
  const TensorExpr covers =
      both(both(less_equal(tap.scalar(0), distance), equal(mod(distance, stride), 0.0)),
           less(window, windows));
  const TensorExpr parts =
      gather(reshape(x, together), tap * windows + where(covers, window, 0.0), axis);
  Dims mask(static_cast<std::size_t>(parts.rank()), node.dims().constant(1));
  mask[static_cast<std::size_t>(axis)] = covers.dims()[0];
  mask[static_cast<std::size_t>(axis) + 1] = covers.dims()[1];
  return reduce("reduce_sum", where(reshape(covers, mask), parts, 0.0), {axis}, false);
}

void convert_col2im(NodeContext& node) {
  node.require_rank(0, 3);
  const TensorExpr x = input_expr(node, 0);
  const Dims image = node.need_dims(1, "image_shape");
  const Integers block = node.need_integers(2, "block_shape");
  const SlidingWindows windows = windows_of(node, block, image);
  Dims apart{x.dims()[0], node.dims().constant(1)};
  apart[1] = floordiv(x.dims()[1], node.dims().constant(windows.taps()));
  std::vector<Columns> axes;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Dim count = floordiv(windows.before[i] + image[i] + windows.after[i] - windows.reach(i),
                               node.dims().constant(windows.strides[i])) +
                      1;
    axes.push_back(
        {block[i], windows.strides[i], windows.dilations[i], count, windows.before[i], image[i]});
    apart.push_back(node.dims().constant(block[i]));
  }
  // [N, C, taps..., windows...] to [N, C, taps, windows, taps, windows, ...].
  Integers perm{0, 1};
  const auto count = static_cast<std::int64_t>(block.size());
  for (std::int64_t i = 0; i < count; ++i) {
    apart.push_back(axes[static_cast<std::size_t>(i)].windows);
    perm.insert(perm.end(), {2 + i, 2 + count + i});
  }
  TensorExpr result = transpose(reshape(x, apart), perm);
  for (std::size_t i = 0; i < axes.size(); ++i)
    result = summed(result, axes[i], static_cast<int>(i) + 2);
  node.give(result.id());
}

}  // namespace

Family rearrangement_operators() {
  return {{"DepthToSpace", convert_depth_to_space},
          {"SpaceToDepth", convert_space_to_depth},
          {"Col2Im", convert_col2im}};
}

}  // namespace dyn::onnx
