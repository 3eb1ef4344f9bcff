// DeformConv: a convolution whose windows take each element from a place of its own.

#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/interpolation.hpp"
#include "src/import/onnx/parts/places.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

constexpr std::size_t filters_input = 1, offset_input = 2, bias_input = 3, mask_input = 4;
// Each tap makes a constant for each axis.
constexpr std::int64_t most_taps = 65536;

/// Sizes that all parts of the conversion use. Places have the dims [N, offset groups, taps, o...].
struct Deformed {
  SlidingWindows windows;
  Dims extents, counts;  ///< extents of the image, and counts of windows
  std::int64_t groups = 1, offset_groups = 1, taps = 1;

  int axes() const { return static_cast<int>(extents.size()); }
  int rank() const { return axes() + 3; }
};

Deformed deformed(NodeContext& node) {
  Deformed of;
  of.extents = extents_of(node);
  of.windows = windows_of(node, filter_sizes(node, node.type_of(filters_input).dims), of.extents);
  of.groups = node.integer("group", 1);
  of.offset_groups = node.integer("offset_group", 1);
  if (of.groups < 1 || of.offset_groups < 1) node.fail("group and offset_group must be at least 1");
  of.taps = of.windows.taps();
  if (of.taps > most_taps)
    node.fail_unsupported(fmt::format("filters of more than {} taps are not supported", most_taps));
  for (std::size_t i = 0; i < of.extents.size(); ++i)
    of.counts.push_back(
        floordiv(of.windows.before[i] + of.extents[i] + of.windows.after[i] - of.windows.reach(i),
                 node.dims().constant(of.windows.strides[i])) +
        1);
  return of;
}

/// [N, groups of `parts` together, ...] as [N, offset groups, taps, rest..., o...].
TensorExpr by_tap(const TensorExpr& x, const Deformed& of, std::optional<std::int64_t> rest) {
  NodeContext& node = x.node();
  Dims dims{x.dims()[0], node.dims().constant(of.offset_groups), node.dims().constant(of.taps)};
  if (rest) dims.push_back(node.dims().constant(*rest));
  dims.insert(dims.end(), of.counts.begin(), of.counts.end());
  return reshape(x, dims);
}

/// The places along an axis of the image of each tap of each window.
TensorExpr places_on(const TensorExpr& offsets, const Deformed& of, int axis) {
  NodeContext& node = offsets.node();
  const auto i = static_cast<std::size_t>(axis);
  std::int64_t inner = 1;
  for (std::size_t later = i + 1; later < of.windows.sizes.size(); ++later)
    inner *= of.windows.sizes[later];
  std::vector<float> taps;
  for (std::int64_t tap = 0; tap < of.taps; ++tap)
    taps.push_back(static_cast<float>(tap / inner % of.windows.sizes[i] * of.windows.dilations[i]));
  Dims dims{offsets.dims()[0], offsets.dims()[1], offsets.dims()[2]};
  dims.insert(dims.end(), of.counts.begin(), of.counts.end());
  const TensorExpr offset =
      reshape(slice(offsets, 3, node.dims().constant(axis), node.dims().constant(axis + 1)), dims);
  const TensorExpr starts =
      range(node, of.counts[i], DType::f32) * static_cast<double>(of.windows.strides[i]) -
      size(node, of.windows.before[i], DType::f32);
  return offset + along(floats(node, {of.taps}, taps), 2, of.rank()) +
         along(starts, axis + 3, of.rank());
}

/// The image where the taps are, linear between its elements and 0 outside: [N, offset groups,
/// taps, o..., C of a group].
TensorExpr sampled(NodeContext& node, const Deformed& of) {
  const TensorExpr x = input_expr(node, 0),
                   offsets = by_tap(input_expr(node, offset_input), of, of.axes());
  Dims dims{x.dims()[0], node.dims().constant(of.offset_groups),
            floordiv(x.dims()[1], node.dims().constant(of.offset_groups))};
  dims.insert(dims.end(), of.extents.begin(), of.extents.end());
  Integers channels_last{0, 1};
  for (int axis = 0; axis < of.axes(); ++axis) channels_last.push_back(axis + 3);
  channels_last.push_back(2);
  const TensorExpr image = transpose(reshape(x, dims), channels_last);
  std::vector<std::vector<Tap<TensorExpr>>> taps;
  for (int axis = 0; axis < of.axes(); ++axis) {
    const TensorExpr extent = size(node, of.extents[static_cast<std::size_t>(axis)], DType::f32);
    taps.emplace_back();
    for (const Tap<TensorExpr>& tap : linear_taps(places_on(offsets, of, axis)))
      taps.back().push_back({cast(clamped(tap.place, extent), DType::i64),
                             where(is_inside(tap.place, extent), tap.weight, 0.0)});
  }
  const TensorExpr batch = along(range(node, dims[0]), 0, of.rank()),
                   group = along(range(node, dims[1]), 1, of.rank());
  std::optional<TensorExpr> sum;
  for (std::size_t corner = 0; corner < std::size_t{1} << taps.size(); ++corner) {
    std::vector<TensorExpr> places{batch, group};
    std::optional<TensorExpr> weight;
    for (std::size_t axis = 0; axis < taps.size(); ++axis) {
      const Tap<TensorExpr>& tap = taps[axis][corner >> axis & 1];
      places.push_back(tap.place);
      weight = weight ? *weight * tap.weight : tap.weight;
    }
    const TensorExpr part = gather_at(image, places) * unsqueeze(*weight, of.rank());
    sum = sum ? *sum + part : part;
  }
  return node.has(mask_input)
             ? *sum * unsqueeze(by_tap(input_expr(node, mask_input), of, std::nullopt), of.rank())
             : *sum;
}

void convert_deform_conv(NodeContext& node) {
  const Deformed of = deformed(node);
  const TensorExpr filters = input_expr(node, filters_input), elements = sampled(node, of);
  // A row for each window, of its channels and their taps, as filters have them.
  Integers rows{0};
  for (int axis = 0; axis < of.axes(); ++axis) rows.push_back(axis + 3);
  for (const int last : {1, of.rank(), 2}) rows.push_back(last);
  const Dim batch = elements.dims()[0], windows = product(node, of.counts),
            outputs = filters.dims()[0], groups = node.dims().constant(of.groups);
  const Dim terms = filters.dims()[1] * of.taps, of_group = floordiv(outputs, groups);
  TensorExpr columns = transpose(elements, rows);
  TensorExpr result = columns;
  if (of.groups == 1) {
    result = transpose(matmul(reshape(columns, {batch, windows, terms}),
                              transpose(reshape(filters, {outputs, terms}), {1, 0})),
                       {0, 2, 1});
  } else {
    columns = transpose(reshape(columns, {batch, windows, groups, terms}), {0, 2, 1, 3});
    result = transpose(
        matmul(columns, transpose(reshape(filters, {groups, of_group, terms}), {0, 2, 1})),
        {0, 1, 3, 2});
  }
  Dims dims{batch, outputs};
  dims.insert(dims.end(), of.counts.begin(), of.counts.end());
  result = reshape(result, dims);
  node.give((node.has(bias_input) ? result + along(input_expr(node, bias_input), 1, result.rank())
                                  : result)
                .id());
}

}  // namespace

// f16 could not tell its places apart.
Family deform_conv_operators() { return {{"DeformConv", convert_deform_conv, Halves::InF32}}; }

}  // namespace dyn::onnx
