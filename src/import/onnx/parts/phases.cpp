#include "src/import/onnx/parts/phases.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {
namespace {

/// More phases are one convolution, whose filters are zeros where a phase has fewer taps.
constexpr std::int64_t most_convolutions = 8;

std::int64_t product_of(const Integers& factors) {
  return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies());
}

/// Consecutive phases along each axis, which have `taps` taps each.
struct Phases {
  Integers first, count, taps;
};

/// Taps of the phases from `first` on: those of the first one, and 1 where it has none.
std::int64_t taps_from(const TransposedConv& conv, std::size_t axis, std::int64_t first) {
  const std::int64_t left = conv.taps[axis] - first, stride = conv.strides[axis];
  return std::max<std::int64_t>((left + stride - 1) / stride, 1);
}

Phases all_phases(const TransposedConv& conv) {
  Phases phases{Integers(conv.taps.size(), 0), conv.strides, {}};
  for (std::size_t i = 0; i < conv.taps.size(); ++i) phases.taps.push_back(taps_from(conv, i, 0));
  return phases;
}

/// Each alone, the last axis' first.
std::vector<Phases> single_phases(const TransposedConv& conv) {
  std::vector<Phases> list;
  const Integers one(conv.taps.size(), 1);
  for (std::int64_t number = 0; number < product_of(conv.strides); ++number) {
    Phases phases{Integers(conv.taps.size()), one, Integers(conv.taps.size())};
    std::int64_t rest = number;
    for (std::size_t i = conv.taps.size(); i-- > 0; rest /= conv.strides[i]) {
      phases.first[i] = rest % conv.strides[i];
      phases.taps[i] = taps_from(conv, i, phases.first[i]);
    }
    list.push_back(std::move(phases));
  }
  return list;
}

/// Goes through all places of a block, the last axis first.
bool advance(Integers& place, const Integers& extents) {
  for (std::size_t i = place.size(); i-- > 0;) {
    if (++place[i] < extents[i]) return true;
    place[i] = 0;
  }
  return false;
}

/// Filters [C, O / groups, taps...] as [phases' taps..., C / groups, groups * phases * O / groups],
/// zeros where there is no tap.
Tensor phase_filters(const Tensor& filters, const TransposedConv& conv, const Phases& phases) {
  const std::size_t element = size_of(filters.dtype);
  const std::int64_t depth = filters.dims[0] / conv.groups, width = filters.dims[1],
                     all_taps = product_of(conv.taps), count = product_of(phases.count);
  Tensor result{filters.dtype, phases.taps, {}};
  result.dims.insert(result.dims.end(), {depth, conv.groups * count * width});
  result.bytes.assign(static_cast<std::size_t>(result.elements()) * element, '\0');
  Integers extents = phases.taps;
  extents.insert(extents.end(), phases.count.begin(), phases.count.end());
  Integers place(extents.size(), 0);
  const std::size_t axes = conv.taps.size();
  for (bool more = result.elements() > 0; more; more = advance(place, extents)) {
    std::int64_t tap = 0, number = 0, phase = 0;
    bool exists = true;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t at =
          phases.first[i] + place[axes + i] + conv.strides[i] * (phases.taps[i] - 1 - place[i]);
      exists = exists && at < conv.taps[i];
      tap = tap * conv.taps[i] + at;
      number = number * phases.taps[i] + place[i];
      phase = phase * phases.count[i] + place[axes + i];
    }
    for (std::int64_t channel = 0; exists && channel < filters.dims[0]; ++channel) {
      const std::int64_t group = channel / depth;
      for (std::int64_t column = 0; column < width; ++column) {
        const std::int64_t from = (channel * width + column) * all_taps + tap,
                           row = number * depth + channel % depth,
                           to = ((row * conv.groups + group) * count + phase) * width + column;
        std::memcpy(result.bytes.data() + static_cast<std::size_t>(to) * element,
                    filters.bytes.data() + static_cast<std::size_t>(from) * element, element);
      }
    }
  }
  return result;
}

/// The same of filters that the run brings, for all phases.
ValueId computed_filters(NodeContext& node, const TransposedConv& conv, const Phases& phases) {
  const Dims dims = node.type_of(1).dims;
  const std::int64_t channels = *dims[0].constant(), width = *dims[1].constant();
  Integers before(dims.size(), 0), after(dims.size(), 0),
      apart{conv.groups, channels / conv.groups, width}, reversed, together = phases.taps;
  const int axes = static_cast<int>(conv.taps.size());
  Integers perm;
  for (int i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    after[axis + 2] = phases.taps[axis] * conv.strides[axis] - conv.taps[axis];
    apart.insert(apart.end(), {phases.taps[axis], conv.strides[axis]});
    reversed.push_back(3 + 2 * i);
    perm.push_back(3 + 2 * i);
  }
  perm.insert(perm.end(), {1, 0});
  for (int i = 0; i < axes; ++i) perm.push_back(4 + 2 * i);
  perm.push_back(2);
  together.insert(together.end(),
                  {channels / conv.groups, conv.groups * product_of(conv.strides) * width});
  ValueId filters =
      node.add("pad", {node.value(1)},
               {node.integer_list("before", before), node.integer_list("after", after)});
  filters = node.add("reshape", {filters}, {node.integer_list("shape", apart)});
  filters = node.add("slice", {filters},
                     {node.integer_list("axes", reversed),
                      node.integer_list("steps", Integers(reversed.size(), -1))});
  filters = node.add("transpose", {filters}, {node.integer_list("perm", perm)});
  return node.add("reshape", {filters}, {node.integer_list("shape", together)});
}

/// Where the results begin, in strides, and how much x grows at its end.
struct Range {
  Integers first;
  Dims after;
};

Range range_of(NodeContext& node, const TransposedConv& conv, const Dims& extents) {
  Range range;
  for (std::size_t i = 0; i < conv.taps.size(); ++i) {
    const std::int64_t stride = conv.strides[i],
                       fewest = std::max<std::int64_t>(conv.taps[i] / stride, 1);
    range.first.push_back(std::min(conv.begin[i].constant().value_or(0) / stride, fewest - 1));
    const Dim needed =
        floordiv(conv.begin[i] + conv.size[i] + (stride - 1), node.dims().constant(stride));
    range.after.push_back(max(needed - extents[i], node.dims().constant(0)));
  }
  return range;
}

ValueId convolved(NodeContext& node, ValueId x, ValueId filters, const TransposedConv& conv,
                  const Phases& phases, const Range& range) {
  SlidingWindows windows;
  windows.sizes = phases.taps;
  windows.strides = windows.dilations = Integers(phases.taps.size(), 1);
  windows.after = range.after;
  for (std::size_t i = 0; i < phases.taps.size(); ++i)
    windows.before.push_back(node.dims().constant(phases.taps[i] - 1 - range.first[i]));
  return node.add("conv", {x, filters}, conv_attrs_of(node, windows, conv.groups));
}

ValueId as_value(NodeContext& node, Tensor tensor) {
  return constant_expr(node, std::move(tensor), node.node().input(1)).id();
}

/// Channels [groups, phases..., O / groups] become [O], each phase a place along its axis.
TensorExpr interleaved(const TensorExpr& y, const TransposedConv& conv, std::int64_t groups) {
  const Dims dims = y.dims();
  const auto axes = static_cast<int>(conv.taps.size());
  NodeContext& node = y.node();
  const std::int64_t channels = *dims.back().constant() / product_of(conv.strides);
  Dims apart(dims.begin(), dims.end() - 1), together{dims[0]};
  const int grouped = groups == 1 ? 0 : 1;
  if (grouped == 1) apart.push_back(node.dims().constant(groups));
  Integers perm{0};
  for (int i = 0; i < axes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    apart.push_back(node.dims().constant(conv.strides[axis]));
    together.push_back(dims[axis + 1] * conv.strides[axis]);
    perm.insert(perm.end(), {i + 1, axes + 1 + grouped + i});
  }
  apart.push_back(node.dims().constant(channels / groups));
  together.push_back(node.dims().constant(channels));
  if (grouped == 1) perm.push_back(axes + 1);
  perm.push_back(2 * axes + 1 + grouped);
  return reshape(transpose(reshape(y, apart), perm), together);
}

}  // namespace

ValueId conv_by_phases(NodeContext& node, ValueId x, const TransposedConv& conv) {
  const Dims dims = node.builder().type(x).dims;
  const Range range = range_of(node, conv, {dims.begin() + 1, dims.end() - 1});
  bool divides = true;
  for (std::size_t i = 0; i < conv.taps.size(); ++i)
    divides = divides && conv.taps[i] % conv.strides[i] == 0;
  const Tensor* const constant = node.constant(1);
  const Phases all = all_phases(conv);
  TensorExpr y(node, x);
  if (constant == nullptr) {
    y = {node, convolved(node, x, computed_filters(node, conv, all), conv, all, range)};
    y = interleaved(y, conv, conv.groups);
  } else if (divides || product_of(conv.strides) > most_convolutions) {
    const ValueId filters = as_value(node, phase_filters(*constant, conv, all));
    y = interleaved({node, convolved(node, x, filters, conv, all, range)}, conv, conv.groups);
  } else {
    std::vector<TensorExpr> parts;
    for (const Phases& phases : single_phases(conv)) {
      const ValueId filters = as_value(node, phase_filters(*constant, conv, phases));
      parts.push_back({node, convolved(node, x, filters, conv, phases, range)});
    }
    y = interleaved(concat(parts, static_cast<int>(dims.size()) - 1), conv, 1);
  }
  for (std::size_t i = 0; i < conv.taps.size(); ++i) {
    const Dim begin = conv.begin[i] - range.first[i] * conv.strides[i];
    y = slice(y, static_cast<int>(i) + 1, begin, begin + conv.size[i]);
  }
  return y.id();
}

}  // namespace dyn::onnx
