// What is appended to a state, and the parts of a concatenation, computed where they belong.

#include "graph/fusion/layout.hpp"

namespace dyn::graph {
namespace {

int append_axis(const Module& module, const Node& append) {
  return *normalize_axis(attr_integer(append, "axis"), module.value(append.outputs[0]).type.rank());
}

/// The memory of `root`, of which `value` is a view, that puts the latter where `view` says.
std::optional<View> view_of_root(const FusionGraph& graph, ValueId root, ValueId value, View view) {
  if (graph.is_output(root)) return std::nullopt;
  while (value != root) {
    const Node& node = graph.node(graph.module().value(value).producer);
    auto before = view_before(graph.module(), node, view);
    if (!before) return std::nullopt;
    view = std::move(*before);
    value = node.inputs[0];
  }
  if (view.strides.empty() || view.strides.back().constant() != 1) return std::nullopt;
  return view;
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
  const ValueId state = append.inputs[0];
  View view{state, module.dims->constant(0), dense_strides(*module.dims, graph.dims(state))};
  view.offset = attr_dim(module, append, "at") *
                view.strides[static_cast<std::size_t>(append_axis(module, append))];
  return view_of_root(graph, root, append.inputs[1], std::move(view));
}

bool computed_for_one(const FusionGraph& graph, ValueId part) {
  const int producer = graph.root_producer(part);
  return producer >= 0 && !graph.free(producer) &&
         graph.node(producer).op->op_class != OpClass::Host && !graph.in_state(part) &&
         graph.readers(graph.root(part)).size() == 1;
}

std::vector<View> views_in_concat(const FusionGraph& graph, const Node& concat, const View& whole) {
  std::vector<View> views;
  const auto axis = static_cast<std::size_t>(
      *normalize_axis(attr_integer(concat, "axis"), static_cast<int>(whole.strides.size())));
  View place = whole;
  for (const ValueId part : concat.inputs) {
    auto view = view_of_root(graph, graph.root(part), part, place);
    if (!view) return {};
    views.push_back(std::move(*view));
    place.offset = place.offset + graph.dims(part)[axis] * place.strides[axis];
  }
  return views;
}

}  // namespace dyn::graph
