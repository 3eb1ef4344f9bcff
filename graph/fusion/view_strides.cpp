// Views as strides.

#include "dyn/error.hpp"
#include "graph/fusion/layout.hpp"

namespace dyn::graph {
namespace {

/// Whether the axes of a block lie as one axis does: each step of one is a whole round of the next.
bool is_one_axis(const ReshapeBlock& block, std::span<const Dim> dims, const View& view) {
  for (std::size_t i = 0; i + 1 < block.from.size(); ++i) {
    const Dim round = dim_at(dims, block.from[i + 1]) * dim_at(view.strides, block.from[i + 1]);
    if (prove_equal(dim_at(view.strides, block.from[i]), round) != true) return false;
  }
  return true;
}

std::optional<View> reshaped(std::span<const Dim> from, std::span<const Dim> to, View view) {
  std::vector<Dim> strides(to.size(), view.offset.table().constant(0));
  for (const ReshapeBlock& block : reshape_blocks(from, to)) {
    if (block.from.empty()) continue;
    if (!is_one_axis(block, from, view)) return std::nullopt;
    Dim stride = dim_at(view.strides, block.from.back());
    for (std::size_t i = block.to.size(); i-- > 0;) {
      strides[static_cast<std::size_t>(block.to[i])] = stride;
      stride = stride * dim_at(to, block.to[i]);
    }
  }
  view.strides = std::move(strides);
  return view;
}

View transposed(const Node& node, const View& view) {
  View result{view.base, view.offset, {}};
  for (const std::int64_t axis : attr_integers(node, "perm")) {
    result.strides.push_back(
        dim_at(view.strides, *normalize_axis(axis, static_cast<int>(view.strides.size()))));
  }
  return result;
}

View sliced(const Module& module, const Node& node, View view) {
  for (std::size_t i = 0; i < view.strides.size(); ++i) {
    const SliceStep slice = slice_step(module, node, static_cast<int>(i));
    view.offset = view.offset + slice.start * view.strides[i];
    view.strides[i] = view.strides[i] * slice.step;
  }
  return view;
}

View expanded(std::span<const Dim> from, std::span<const Dim> to, const View& view) {
  View result{view.base, view.offset, std::vector<Dim>(to.size(), view.offset.table().constant(0))};
  const std::size_t skip = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    result.strides[skip + i] = view.strides[i] * broadcast_factor(from[i], to[skip + i]);
  }
  return result;
}

}  // namespace

std::optional<View> view_through(const Module& module, const Node& view, const View& input) {
  const auto& from = module.value(view.inputs[0]).type.dims;
  const auto& to = module.value(view.outputs[0]).type.dims;
  const OpId id = view.op->id;
  if (id == OpId::Reshape) return reshaped(from, to, input);
  if (id == OpId::Transpose) return transposed(view, input);
  if (id == OpId::Slice) return sliced(module, view, input);
  if (id == OpId::Expand) return expanded(from, to, input);
  throw Error(ErrorKind::internal, "view_through: no view: " + view.op->name);
}

std::optional<View> view_before(const Module& module, const Node& view, const View& result) {
  const auto& from = module.value(view.inputs[0]).type.dims;
  const auto& to = module.value(view.outputs[0]).type.dims;
  if (view.op->id == OpId::Reshape) return reshaped(to, from, result);
  if (view.op->id != OpId::Transpose) return std::nullopt;
  View input = result;
  const auto perm = attr_integers(view, "perm");
  for (std::size_t i = 0; i < perm.size(); ++i) {
    input.strides[static_cast<std::size_t>(
        *normalize_axis(perm[i], static_cast<int>(perm.size())))] = result.strides[i];
  }
  return input;
}

bool is_dense(const View& view, std::span<const Dim> dims) {
  if (view.offset.constant() != 0) return false;
  const auto dense = dense_strides(view.offset.table(), dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].constant() != 1 && prove_equal(view.strides[i], dense[i]) != true) return false;
  }
  return true;
}

View stored_view(const Module& module, ValueId id, std::span<const int> order) {
  const auto& dims = module.value(id).type.dims;
  View view{id, module.dims->constant(0), std::vector<Dim>(dims.size())};
  Dim stride = module.dims->constant(1);
  for (std::size_t i = order.size(); i-- > 0;) {
    view.strides[static_cast<std::size_t>(order[i])] = stride;
    stride = stride * dim_at(dims, order[i]);
  }
  return view;
}

}  // namespace dyn::graph
