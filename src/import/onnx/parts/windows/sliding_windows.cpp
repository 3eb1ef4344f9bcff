#include "src/import/onnx/parts/windows/sliding_windows.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dyn::onnx {

using Integers = std::vector<std::int64_t>;

namespace {

/// Pads so that there is one window for every stride of the axis.
void pad_same(NodeContext& node, SlidingWindows& windows, const std::vector<Dim>& extents,
              bool upper) {
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Dim count =
        floordiv(extents[i] + (windows.strides[i] - 1), node.dims().constant(windows.strides[i]));
    const Dim total = max((count - 1) * windows.strides[i] + windows.reach(i) - extents[i],
                          node.dims().constant(0));
    const Dim two = node.dims().constant(2), less = floordiv(total, two),
              more = floordiv(total + 1, two);
    windows.before[i] = upper ? less : more;
    windows.after[i] = upper ? more : less;
  }
}

/// Keeps products and sums of windows' sizes far from 64 bits.
void check_sizes(NodeContext& node, const SlidingWindows& windows) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t taps = 1, span = 0;
  for (std::size_t i = 0; i < windows.sizes.size(); ++i) {
    const std::int64_t size = windows.sizes[i];
    if (size < 1)
      node.fail(fmt::format("its windows have the size {} along axis {}; it must be at least 1",
                            size, i));
    if (windows.strides[i] > most || __builtin_mul_overflow(taps, size, &taps) ||
        __builtin_mul_overflow(size, windows.dilations[i], &span) || taps > most || span > most)
      node.fail_unsupported(
          fmt::format("windows and strides of more than {} elements are not supported", most));
  }
}

}  // namespace

Integers list_of(NodeContext& node, const char* name, std::size_t size, std::int64_t value) {
  Integers list = node.integers(name).value_or(Integers(size, value));
  if (list.size() != size)
    node.fail(fmt::format("{} has {} elements for {} axes", name, list.size(), size));
  if (std::ranges::any_of(list, [](std::int64_t each) { return each < 1; }))
    node.fail(fmt::format("{} must be at least 1", name));
  return list;
}

SlidingWindows windows_of(NodeContext& node, Integers sizes, const std::vector<Dim>& extents) {
  const std::size_t count = sizes.size();
  if (count != extents.size())
    node.fail(fmt::format("its windows have {} axes, its input {} beside batch and channels", count,
                          extents.size()));
  SlidingWindows windows{std::move(sizes),
                         list_of(node, "strides", count, 1),
                         list_of(node, "dilations", count, 1),
                         {},
                         {}};
  check_sizes(node, windows);
  const Integers pads = node.integers("pads").value_or(Integers(2 * count, 0));
  if (pads.size() != 2 * count)
    node.fail(fmt::format("pads has {} elements for {} axes", pads.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    windows.before.push_back(node.dims().constant(pads[i]));
    windows.after.push_back(node.dims().constant(pads[count + i]));
  }
  const std::string rule = node.word("auto_pad", "NOTSET");
  if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
    pad_same(node, windows, extents, rule == "SAME_UPPER");
  } else if (rule == "VALID") {
    windows.before.assign(count, node.dims().constant(0));
    windows.after = windows.before;
  } else if (rule != "NOTSET") {
    node.fail(fmt::format("auto_pad {} is unknown", rule));
  }
  for (const auto* pads_of : {&windows.before, &windows.after}) {
    if (std::ranges::any_of(*pads_of, [](Dim pad) { return graph::bounds(pad).low < 0; }))
      node.fail_unsupported("negative pads are not supported");
  }
  return windows;
}

std::vector<Dim> extents_of(NodeContext& node, Channels channels) {
  const std::vector<Dim> dims = node.type(0).dims;
  if (dims.size() < 3)
    node.fail(fmt::format("its input needs a batch, channels and at least one more dim, but has {}",
                          dims.size()));
  if (channels == Channels::Last) return {dims.begin() + 1, dims.end() - 1};
  return {dims.begin() + 2, dims.end()};
}

bool holds_all(NodeContext& node, const SlidingWindows& windows, const std::vector<Dim>& extents) {
  const FileSizes& sizes = node.sizes();
  if (std::ranges::none_of(extents, [&](Dim extent) { return sizes.depends(extent); }))
    return false;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (windows.strides[i] != 1 || windows.dilations[i] != 1 || !sizes.knows(extents[i]))
      return false;
    const std::int64_t extent = sizes.of(extents[i]), before = sizes.of(windows.before[i]),
                       after = sizes.of(windows.after[i]);
    if (extent + before + after != windows.sizes[i]) return false;
  }
  return true;
}

std::vector<graph::Attr> attrs_of(NodeContext& node, const SlidingWindows& windows,
                                  bool with_sizes) {
  std::vector<graph::Attr> attrs;
  const auto is = [](const Integers& list, std::int64_t value) {
    return std::ranges::all_of(list, [&](std::int64_t each) { return each == value; });
  };
  const auto none = [](const std::vector<Dim>& dims) {
    return std::ranges::all_of(dims, [](Dim dim) { return dim.constant() == 0; });
  };
  if (with_sizes) attrs.push_back(node.integer_list("sizes", windows.sizes));
  if (!is(windows.strides, 1)) attrs.push_back(node.integer_list("strides", windows.strides));
  if (!is(windows.dilations, 1)) attrs.push_back(node.integer_list("dilations", windows.dilations));
  if (!none(windows.before)) attrs.push_back(node.dim_list("before", windows.before));
  if (!none(windows.after)) attrs.push_back(node.dim_list("after", windows.after));
  return attrs;
}

std::vector<graph::Attr> conv_attrs_of(NodeContext& node, const SlidingWindows& windows,
                                       std::int64_t groups) {
  std::vector<graph::Attr> attrs = attrs_of(node, windows, false);
  if (groups != 1) attrs.push_back(node.dim("groups", groups));
  return attrs;
}

Integers filter_sizes(NodeContext& node, const std::vector<Dim>& dims) {
  Integers sizes;
  for (std::size_t i = 2; i < dims.size(); ++i) {
    if (!dims[i].constant())
      node.fail_unsupported("a filter whose size depends on the inputs is not supported");
    sizes.push_back(*dims[i].constant());
  }
  if (const auto given = node.integers("kernel_shape"); given && *given != sizes)
    node.fail("kernel_shape is not the shape of its filters");
  return sizes;
}

}  // namespace dyn::onnx
