// What is appended to a state, computed where it belongs.

#include "graph/passes/layout.hpp"

namespace dyn::graph {
namespace {

int append_axis(const Module& module, const Node& append) {
  return *normalize_axis(attr_integer(append, "axis"), module.value(append.outputs[0]).type.rank());
}

}  // namespace

Coords appended_coords(const Module& module, const Node& append) {
  Coords coords = identity_coords(*module.dims, module.value(append.outputs[0]).type.rank());
  Coord& along = coords[static_cast<std::size_t>(append_axis(module, append))];
  along = along + attr_dim(module, append, "at");
  return coords;
}

std::optional<View> view_in_state(const FusionGraph& graph, ValueId root, const Node& append) {
  const Module& module = graph.module();
  if (graph.is_output(root)) return std::nullopt;
  const ValueId state = append.inputs[0];
  View view{state, module.dims->constant(0), dense_strides(*module.dims, graph.dims(state))};
  view.offset = attr_dim(module, append, "at") * view.strides[static_cast<std::size_t>(append_axis(module, append))];
  for (ValueId value = append.inputs[1]; value != root;) {
    const Node& node = graph.node(module.value(value).producer);
    auto before = view_before(module, node, view);
    if (!before) return std::nullopt;
    view = std::move(*before);
    value = node.inputs[0];
  }
  if (view.strides.empty() || view.strides.back().constant() != 1) return std::nullopt;
  return view;
}

}  // namespace dyn::graph
