// Elements from computed places.

#include <algorithm>

#include <fmt/format.h>

#include "src/import/ops/families.hpp"

namespace dyn::onnx {
namespace {

bool give_known_concat(NodeContext& node) {
  KnownInts joined;
  for (std::size_t i = 0; i < node.inputs(); ++i) {
    const std::optional<KnownInts> part = node.ints(i);
    if (!part || part->scalar) return false;
    joined.dtype = part->dtype;
    joined.elements.insert(joined.elements.end(), part->elements.begin(), part->elements.end());
  }
  node.give(std::move(joined));
  return true;
}

void convert_concat(NodeContext& node) {
  if (give_known_concat(node)) return;
  const int axis = node.axis(node.integer("axis", 0), node.type(0).rank());
  node.give(node.add("concat", node.values(), {node.dim("axis", axis)}));
}

/// Sizes that constant indices choose.
bool give_known_gather(NodeContext& node) {
  const std::optional<KnownInts> data = node.ints(0), indices = node.ints(1);
  if (!data || data->scalar || !indices) return false;
  const auto count = static_cast<std::int64_t>(data->elements.size());
  KnownInts chosen{data->dtype, indices->scalar, {}};
  for (const Dim each : indices->elements) {
    std::optional<std::int64_t> index = each.constant();
    if (!index) return false;
    if (*index < -count || *index >= count) node.fail(fmt::format("index {} is outside of {} elements", *index, count));
    chosen.elements.push_back(data->elements[static_cast<std::size_t>(*index < 0 ? *index + count : *index)]);
  }
  node.give(std::move(chosen));
  return true;
}

void convert_gather(NodeContext& node) {
  if (give_known_gather(node)) return;
  const int axis = node.axis(node.integer("axis", 0), node.type(0).rank());
  node.give(node.add("gather", {node.value(0), node.value(1)}, {node.dim("axis", axis)}));
}

/// For each axis what is put before and after it.
struct Pads {
  std::vector<Dim> before, after;
};

Pads pads_of(NodeContext& node, int rank) {
  std::vector<Dim> pads;
  if (node.has(1)) pads = node.need_dims(1, "pads");
  else if (const auto given = node.integers("pads"))
    for (const std::int64_t each : *given) pads.push_back(node.dims().constant(each));
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  if (node.has(3)) axes = node.need_integers(3, "axes");
  if (pads.size() != 2 * axes.size()) node.fail(fmt::format("pads has {} elements for {} axes", pads.size(), axes.size()));
  const Dim zero = node.dims().constant(0);
  Pads all{std::vector(static_cast<std::size_t>(rank), zero), std::vector(static_cast<std::size_t>(rank), zero)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(node.axis(axes[i], rank));
    all.before[axis] = pads[i];
    all.after[axis] = pads[axes.size() + i];
  }
  return all;
}

/// Negative pads cut off: a slice, then what is put around it.
void convert_pad(NodeContext& node) {
  const std::string mode = node.word("mode", "constant");
  if (mode != "constant") node.fail_unsupported(fmt::format("mode {} is not supported", mode));
  const std::vector<Dim> dims = node.type(0).dims;
  const Pads pads = pads_of(node, static_cast<int>(dims.size()));
  const double element = node.has(2) ? node.need_number(2, "the padding's value") : node.number("value", 0);
  const Dim zero = node.dims().constant(0);
  std::vector<std::int64_t> axes;
  std::vector<Dim> starts, ends, before, after;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    before.push_back(max(pads.before[i], zero));
    after.push_back(max(pads.after[i], zero));
    if (graph::bounds(pads.before[i]).low >= 0 && graph::bounds(pads.after[i]).low >= 0) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    starts.push_back(before.back() - pads.before[i]);
    ends.push_back(dims[i] + pads.after[i] - after.back());
  }
  ValueId x = node.value(0);
  if (!axes.empty()) x = node.add("slice", {x}, {node.integer_list("axes", axes), node.dim_list("starts", starts), node.dim_list("ends", ends)});
  node.give(node.add("pad", {x}, {node.dim_list("before", before), node.dim_list("after", after), {"value", element}}));
}

/// Of the last two axes what lies on one side of a diagonal; 0 elsewhere.
void convert_trilu(NodeContext& node) {
  const std::vector<Dim> dims = node.type(0).dims;
  if (dims.size() < 2) node.fail("its input must have at least 2 dims");
  const bool upper = node.integer("upper", 1) != 0;
  const Dim one = node.dims().constant(1), diagonal = node.has(1) ? node.need_dims(1, "k").at(0) : node.dims().constant(0);
  const Dim rows = dims[dims.size() - 2], columns = dims.back();
  const ValueId column = node.add("range", {}, {{"end", columns}});
  // Row i begins at i + k.
  const ValueId first = node.add("range", {}, {{"start", diagonal}, {"end", rows + diagonal}});
  const ValueId row = node.add("reshape", {first}, {node.dim_list("shape", std::vector{rows, one})});
  const ValueId kept = node.add(upper ? "greater_equal" : "less_equal", {column, row});
  const ValueId x = node.value(0);
  node.give(node.add("where", {kept, x, node.scalar(0, x)}));
}

}  // namespace

Family indexed_operators() { return {{"Concat", convert_concat}, {"Gather", convert_gather}, {"Pad", convert_pad}, {"Trilu", convert_trilu}}; }

}  // namespace dyn::onnx
