// Parts of a tensor, and its axes in another order.

#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "src/import/onnx/ops/families.hpp"
#include "src/import/onnx/parts/folded.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

bool is_permutation(std::vector<std::int64_t> perm) {
  std::ranges::sort(perm);
  std::vector<std::int64_t> axes(perm.size());
  std::iota(axes.begin(), axes.end(), 0);
  return perm == axes;
}

void convert_transpose(NodeContext& node) {
  const std::size_t rank = node.type_of(0).dims.size();
  std::vector<std::int64_t> perm(rank);
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (const auto given = node.integers("perm")) perm = *given;
  const std::optional<KnownInts> ints = node.ints_of_any_rank(0);
  if (ints && perm.size() == rank && is_permutation(perm))
    return node.give(transposed(*ints, perm));
  node.give(node.add("transpose", {node.value(0)}, {node.integer_list("perm", perm)}));
}

/// The part of one axis that a Slice takes.
struct Cut {
  std::int64_t axis = 0, step = 1;
  Dim start, end;
};

std::vector<Dim> slice_list(NodeContext& node, const char* name, std::size_t input) {
  if (node.has(input)) return node.need_dims(input, name);
  const auto attribute = node.integers(name);
  if (!attribute) node.fail(fmt::format("it needs {}", name));
  std::vector<Dim> dims;
  for (const std::int64_t each : *attribute) dims.push_back(node.dims().constant(each));
  return dims;
}

/// A start or end counted from the front, within 0 .. extent (backwards: -1 .. extent - 1). An
/// extent is never negative: what counts from the front is limited above alone, what counts from
/// the end below alone.
Dim place(NodeContext& node, Dim given, Dim extent, bool backwards) {
  const Dim back = given * -1;
  // The index counts from the end: a size of 0 would mean another place, so the size must be at
  // least 1.
  if (back.symbol() && graph::bounds(back).low == 0)
    node.dims().refine(*back.symbol(), 1, std::numeric_limits<std::int64_t>::max());
  const graph::Interval range = graph::bounds(given);
  if (range.low < 0 && range.high >= 0)
    node.fail_unsupported(fmt::format("whether {} counts from the end depends on the sizes",
                                      graph::to_string(given)));
  const Dim from_front = range.low < 0 ? extent + given : given;
  if (backwards) return max(min(from_front, extent - 1), node.dims().constant(-1));
  return range.low < 0 ? max(from_front, node.dims().constant(0)) : min(from_front, extent);
}

std::vector<Cut> cuts_of(NodeContext& node, const std::vector<Dim>& dims) {
  const std::vector<Dim> starts = slice_list(node, "starts", 1), ends = slice_list(node, "ends", 2);
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = node.integers("axes", 3)) axes = *given;
  if (node.has(4)) steps = node.need_integers(4, "steps");
  // A limit beyond every axis; later arithmetic adds to it.
  constexpr std::int64_t most_step = std::int64_t{1} << 61;
  for (std::int64_t& step : steps) step = std::clamp(step, -most_step, most_step);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    node.fail(fmt::format("starts, ends, axes and steps have {}, {}, {} and {} elements",
                          starts.size(), ends.size(), axes.size(), steps.size()));
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) node.fail("a step is 0");
    const int axis = node.axis(axes[i], static_cast<int>(dims.size()));
    const Dim extent = dims[static_cast<std::size_t>(axis)];
    const bool backwards = steps[i] < 0;
    Cut cut{axis, steps[i], {}, place(node, ends[i], extent, backwards)};
    // A start beyond the end, and so beyond the extent, is moved to the end below.
    const bool limited = !backwards && graph::bounds(starts[i]).low >= 0;
    cut.start = limited ? starts[i] : place(node, starts[i], extent, backwards);
    if (backwards) {
      // The same for the reversed axis.
      cut.start = extent - 1 - cut.start;
      cut.end = extent - 1 - cut.end;
    }
    // An empty part lies at its end: sizes stay simple so, for parts of parts too.
    cut.start = min(cut.start, cut.end);
    cuts.push_back(cut);
  }
  return cuts;
}

bool give_known_slice(NodeContext& node, const std::vector<Cut>& cuts) {
  const std::optional<KnownInts> ints = node.ints_of_any_rank(0);
  if (!ints || ints->scalar) return false;
  std::vector<std::vector<std::int64_t>> places;
  for (const std::int64_t dim : dims_of(*ints)) {
    std::vector<std::int64_t>& along = places.emplace_back(static_cast<std::size_t>(dim));
    std::iota(along.begin(), along.end(), 0);
  }
  for (const Cut& cut : cuts) {
    if (!cut.start.constant() || !cut.end.constant()) return false;
    std::vector<std::int64_t>& along = places[static_cast<std::size_t>(cut.axis)];
    if (std::ranges::count(cuts, cut.axis, &Cut::axis) > 1) return false;
    if (cut.step < 0) std::ranges::reverse(along);
    std::vector<std::int64_t> part;
    for (std::int64_t i = *cut.start.constant(); i < *cut.end.constant(); i += std::abs(cut.step))
      part.push_back(along[static_cast<std::size_t>(i)]);
    along = std::move(part);
  }
  node.give(taken(*ints, places));
  return true;
}

bool give_part_of_constant(NodeContext& node, const std::vector<Dim>& dims,
                           const std::vector<Cut>& cuts) {
  std::vector<PlacesAlong> places;
  for (const Dim dim : dims) {
    if (!dim.constant()) return false;
    places.push_back({0, *dim.constant(), 1});
  }
  for (const Cut& cut : cuts) {
    const auto start = cut.start.constant(), end = cut.end.constant();
    if (!start || !end || cut.step < 0 || std::ranges::count(cuts, cut.axis, &Cut::axis) > 1)
      return false;
    places[static_cast<std::size_t>(cut.axis)] = {*start, (*end - *start + cut.step - 1) / cut.step,
                                                  cut.step};
  }
  return give_folded_part(node, places);
}

void convert_slice(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const std::vector<Cut> cuts = cuts_of(node, dims);
  if (give_known_slice(node, cuts) || give_part_of_constant(node, dims, cuts)) return;
  ValueId x = node.value(0);
  std::vector<std::int64_t> reversed, axes, steps;
  std::vector<Dim> starts, ends;
  for (const Cut& cut : cuts) {
    if (cut.step < 0) reversed.push_back(cut.axis);
    axes.push_back(cut.axis);
    steps.push_back(std::abs(cut.step));
    starts.push_back(cut.start);
    ends.push_back(cut.end);
  }
  for (const std::int64_t axis : reversed)
    x = node.add("slice", {x},
                 {node.integer_list("axes", std::vector{axis}),
                  node.integer_list("steps", std::vector<std::int64_t>{-1})});
  node.give(node.add("slice", {x},
                     {node.integer_list("axes", axes), node.dim_list("starts", starts),
                      node.dim_list("ends", ends), node.integer_list("steps", steps)}));
}

/// Sizes as given, or equal parts, where the last may be smaller.
std::vector<Dim> split_sizes(NodeContext& node, Dim extent) {
  std::vector<Dim> sizes;
  if (node.has(1)) return node.need_dims(1, "split");
  if (const auto given = node.integers("split")) {
    for (const std::int64_t size : *given) sizes.push_back(node.dims().constant(size));
    return sizes;
  }
  const auto parts = static_cast<std::int64_t>(node.outputs());
  if (parts == 0) node.fail("it has no outputs");
  const Dim size = floordiv(extent + (parts - 1), node.dims().constant(parts));
  Dim left = extent;
  for (std::int64_t i = 0; i < parts; ++i) {
    const Dim part = i + 1 == parts ? left : size;
    sizes.push_back(part);
    left = left - part;
  }
  return sizes;
}

void convert_split(NodeContext& node) {
  const std::vector<Dim> dims = node.type_of(0).dims;
  const int axis = node.axis(node.integer("axis", 0), static_cast<int>(dims.size()));
  const std::vector<Dim> sizes = split_sizes(node, dims[static_cast<std::size_t>(axis)]);
  if (sizes.size() != node.outputs())
    node.fail(fmt::format("split has {} sizes for {} outputs", sizes.size(), node.outputs()));
  std::vector<std::string> names(node.node().output().begin(), node.node().output().end());
  const std::vector<ValueId> parts = node.builder().add(
      "split", {node.value(0)}, {node.dim("axis", axis), node.dim_list("sizes", sizes)}, names);
  for (std::size_t i = 0; i < parts.size(); ++i) node.give(parts[i], i);
}

}  // namespace

Family view_operators() {
  return {{"Transpose", convert_transpose}, {"Slice", convert_slice}, {"Split", convert_split}};
}

}  // namespace dyn::onnx
