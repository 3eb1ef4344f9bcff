// ConvTranspose: a convolution of the input for each phase of the stride; with dilations one of the
// input, with zeros between its elements, by the filters in reverse.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/axis_order.hpp"
#include "src/import/onnx/parts/phases.hpp"
#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

/// How many zeros stand around an axis before the filters slide over it; negative: how many
/// elements are cut off.
struct Margins {
  Dim before, after;
};

/// The taps of a filter [C, O, taps...] in the opposite order.
Tensor with_taps_reversed(const Tensor& filters) {
  Tensor result = filters;
  const std::size_t size = size_of(filters.dtype);
  std::size_t taps = 1;
  for (std::size_t i = 2; i < filters.dims.size(); ++i)
    taps *= static_cast<std::size_t>(filters.dims[i]);
  for (std::size_t first = 0; taps > 0 && first < filters.bytes.size(); first += taps * size) {
    for (std::size_t tap = 0; tap < taps; ++tap)
      std::memcpy(result.bytes.data() + first + tap * size,
                  filters.bytes.data() + first + (taps - 1 - tap) * size, size);
  }
  return result;
}

/// Dims of [C, O / groups, taps...] in the steps to [taps..., C / groups, O].
struct FilterArrangement {
  Integers apart;     ///< [groups, C / groups, O / groups, taps...]
  Integers perm;      ///< to [taps..., C / groups, groups, O / groups]
  Integers together;  ///< [taps..., C / groups, O]
};

FilterArrangement arrangement_of(NodeContext& node, std::int64_t groups) {
  Integers dims;
  for (const Dim dim : node.type_of(1).dims) {
    if (!dim.constant())
      node.fail_unsupported("filters whose number depends on the inputs are not supported");
    dims.push_back(*dim.constant());
  }
  if (groups < 1 || dims[0] % groups != 0)
    node.fail(fmt::format("{} groups do not divide {} channels", groups, dims[0]));
  FilterArrangement arrangement{{groups, dims[0] / groups, dims[1]},
                                Integers(dims.size() + 1),
                                {dims.begin() + 2, dims.end()}};
  arrangement.apart.insert(arrangement.apart.end(), dims.begin() + 2, dims.end());
  std::iota(arrangement.perm.begin(), arrangement.perm.end() - 3, 3);
  arrangement.perm[arrangement.perm.size() - 3] = 1;
  arrangement.perm[arrangement.perm.size() - 2] = 0;
  arrangement.perm.back() = 2;
  arrangement.together.insert(arrangement.together.end(), {dims[0] / groups, groups * dims[1]});
  return arrangement;
}

/// The filters with their taps reversed; constant filters are converted when the model is imported.
ValueId conv_filters(NodeContext& node, std::int64_t groups) {
  const FilterArrangement arrangement = arrangement_of(node, groups);
  if (const Tensor* constant = node.constant(1)) {
    Tensor filters = with_taps_reversed(*constant);
    filters.dims = arrangement.apart;
    Tensor arranged = permuted(filters, arrangement.perm);
    arranged.dims = arrangement.together;
    return constant_expr(node, std::move(arranged), node.node().input(1)).id();
  }
  Integers axes(arrangement.together.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  const ValueId reversed = node.add(
      "slice", {node.value(1)},
      {node.integer_list("axes", axes), node.integer_list("steps", Integers(axes.size(), -1))});
  const ValueId apart =
      node.add("reshape", {reversed}, {node.integer_list("shape", arrangement.apart)});
  return node.add("reshape",
                  {node.add("transpose", {apart}, {node.integer_list("perm", arrangement.perm)})},
                  {node.integer_list("shape", arrangement.together)});
}

/// stride - 1 zeros after each element of the axes before the channels.
ValueId spread(NodeContext& node, ValueId x, const Integers& strides) {
  if (std::ranges::all_of(strides, [](std::int64_t stride) { return stride == 1; })) return x;
  const std::vector<Dim> dims = node.builder().type(x).dims;
  const Dim zero = node.dims().constant(0), one = node.dims().constant(1);
  std::vector<Dim> apart{dims[0]}, before{zero}, after{zero}, together{dims[0]};
  for (std::size_t i = 0; i < strides.size(); ++i) {
    apart.insert(apart.end(), {dims[i + 1], one});
    before.insert(before.end(), {zero, zero});
    after.insert(after.end(), {zero, node.dims().constant(strides[i] - 1)});
    together.push_back(dims[i + 1] * strides[i]);
  }
  for (auto* list : {&apart, &together}) list->push_back(dims.back());
  for (auto* list : {&before, &after}) list->push_back(zero);
  const ValueId padded =
      node.add("pad", {node.add("reshape", {x}, {node.dim_list("shape", apart)})},
               {node.dim_list("before", before), node.dim_list("after", after)});
  return node.add("reshape", {padded}, {node.dim_list("shape", together)});
}

/// The margins that the pads, the rule, or the wanted shape ask for.
std::vector<Margins> borders_of(NodeContext& node, const SlidingWindows& windows,
                                const std::vector<Dim>& extents) {
  const std::size_t count = extents.size();
  const Integers more = node.integers("output_padding").value_or(Integers(count, 0));
  if (more.size() != count)
    node.fail(fmt::format("output_padding has {} elements for {} axes", more.size(), count));
  const auto wanted = node.integers("output_shape");
  if (wanted && wanted->size() != count)
    node.fail(fmt::format("output_shape has {} elements for {} axes", wanted->size(), count));
  const std::string rule = node.word("auto_pad", "NOTSET");
  const bool same = rule == "SAME_UPPER" || rule == "SAME_LOWER";
  std::vector<Margins> borders;
  for (std::size_t i = 0; i < count; ++i) {
    Dim before = windows.before[i], after = windows.after[i];
    if (wanted || same) {
      const Dim size =
          wanted ? node.dims().constant((*wanted)[i]) : extents[i] * windows.strides[i];
      const Dim whole = (extents[i] - 1) * windows.strides[i] + more[i] + windows.reach(i),
                zero = node.dims().constant(0);
      const Dim total = max(whole - size, zero);
      const Dim two = node.dims().constant(2), less = floordiv(total, two),
                more_of_it = floordiv(total + 1, two);
      before = rule == "SAME_UPPER" ? less : more_of_it;
      // Where a wanted shape exceeds the whole result, the excess stands at the end.
      after = (rule == "SAME_UPPER" ? more_of_it : less) - max(size - whole, zero);
    }
    const std::int64_t reach = windows.reach(i) - 1;
    borders.push_back({node.dims().constant(reach) - before,
                       node.dims().constant(reach + more[i] - (windows.strides[i] - 1)) - after});
  }
  return borders;
}

/// Cuts negative borders off; the others become the convolution's padding.
ValueId cut(NodeContext& node, ValueId x, std::vector<Margins>& borders) {
  const std::vector<Dim> dims = node.builder().type(x).dims;
  const Dim zero = node.dims().constant(0);
  Integers axes;
  std::vector<Dim> starts, ends;
  for (std::size_t i = 0; i < borders.size(); ++i) {
    Margins& border = borders[i];
    if (graph::bounds(border.before).low >= 0 && graph::bounds(border.after).low >= 0) continue;
    axes.push_back(static_cast<std::int64_t>(i) + 1);
    starts.push_back(max(zero - border.before, zero));
    ends.push_back(dims[i + 1] - max(zero - border.after, zero));
    border = {max(border.before, zero), max(border.after, zero)};
  }
  if (axes.empty()) return x;
  return node.add("slice", {x},
                  {node.integer_list("axes", axes), node.dim_list("starts", starts),
                   node.dim_list("ends", ends)});
}

/// The input with zeros between its elements, and the filters in reverse.
ValueId convolve_spread(NodeContext& node, ValueId x, SlidingWindows windows,
                        std::vector<Margins> borders, std::int64_t groups) {
  x = cut(node, spread(node, x, windows.strides), borders);
  windows.strides.assign(windows.strides.size(), 1);
  for (std::size_t i = 0; i < borders.size(); ++i) {
    windows.before[i] = borders[i].before;
    windows.after[i] = borders[i].after;
  }
  return node.add("conv", {x, conv_filters(node, groups)}, conv_attrs_of(node, windows, groups));
}

bool is_phased(NodeContext& node, const SlidingWindows& windows, std::int64_t groups) {
  const auto is_one = [](std::int64_t each) { return each == 1; };
  if (!std::ranges::all_of(windows.dilations, is_one) ||
      std::ranges::all_of(windows.strides, is_one))
    return false;
  // Filters grow to whole strides.
  constexpr double most_growth = 64;
  double growth = 1;
  for (std::size_t i = 0; i < windows.sizes.size(); ++i) {
    const auto taps = static_cast<double>(windows.sizes[i]),
               stride = static_cast<double>(windows.strides[i]);
    growth *= std::ceil(taps / stride) * stride / taps;
  }
  return growth <= most_growth &&
         (windows.sizes.size() < 3 || (groups == 1 && node.constant(1) != nullptr));
}

TransposedConv phased(NodeContext& node, const SlidingWindows& windows,
                      const std::vector<Margins>& borders, const std::vector<Dim>& extents,
                      std::int64_t groups) {
  arrangement_of(node, groups);  // checks the filters
  TransposedConv conv{windows.sizes, windows.strides, groups, {}, {}};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::int64_t reach = windows.sizes[i] - 1;
    conv.begin.push_back(node.dims().constant(reach) - borders[i].before);
    conv.size.push_back(extents[i] * windows.strides[i] + borders[i].before + borders[i].after -
                        reach);
    if (graph::bounds(conv.size.back()).high < 0)
      node.fail(fmt::format("its pads cut off more than axis {} has", i + 2));
  }
  return conv;
}

void convert_conv_transpose(NodeContext& node) {
  const std::vector<Dim> filters = node.type_of(1).dims, extents = extents_of(node);
  if (filters.size() != extents.size() + 2)
    node.fail(
        fmt::format("its filters have {} dims, its input {}", filters.size(), extents.size() + 2));
  const std::int64_t groups = node.integer("group", 1);
  SlidingWindows windows = windows_of(node, filter_sizes(node, filters), extents);
  std::vector<Margins> borders = borders_of(node, windows, extents);
  ValueId y = channels_last(node, node.value(0));
  if (is_phased(node, windows, groups)) {
    y = conv_by_phases(node, y, phased(node, windows, borders, extents, groups));
  } else {
    y = convolve_spread(node, y, windows, borders, groups);
  }
  if (node.has(2)) y = node.add("add", {y, node.value(2)});
  node.give(channels_first(node, y));
}

}  // namespace

Family transposed_conv_operators() { return {{"ConvTranspose", convert_conv_transpose}}; }

}  // namespace dyn::onnx
