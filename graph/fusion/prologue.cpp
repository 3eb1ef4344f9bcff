#include "graph/fusion/prologue.hpp"

#include <algorithm>

namespace dyn::graph {
namespace {

/// An operator with a function's instructions counts as so many.
constexpr std::int64_t work_of_function = 32;
/// Each block of rows computes the right factor anew, and how many there are only a run tells: the
/// rows of one hide so many operators.
constexpr std::int64_t most_work_on_right = 4;
/// Products with fewer columns than so many operators need have kernels that read factors where
/// they lie.
constexpr std::int64_t least_work = 2;

Dim columns_of(const Grower& group) { return group.extents()[group.extents().size() - 2]; }

int lane_axis_of(const Grower& group, int factor) {
  const auto k = static_cast<int>(group.extents().size()) - 1;
  return factor == 0 ? k : k - 1;
}

bool has_columns_for(const Grower& group, std::int64_t work) {
  const Dim columns = columns_of(group);
  const std::int64_t needed = work * group.options().prologue_columns;
  return prove_less_equal(columns.table().constant(needed), columns) == true;
}

/// Kernels multiply computed factors of f32 alone, in whole matrices.
bool may_compute(const Grower& group, const Edge& edge) {
  const FusionGraph& graph = group.graph();
  const Node& product = graph.node(edge.node);
  if (product.op->id != OpId::Matmul || edge.input > 1) return false;
  const ValueId factor = product.inputs[static_cast<std::size_t>(edge.input)];
  const auto is_f32 = [&](ValueId id) { return group.module().value(id).type.dtype == DType::f32; };
  return is_f32(product.inputs[0]) && is_f32(product.inputs[1]) && !graph.in_state(factor) &&
         has_columns_for(group, least_work);
}

std::int64_t work_of(const FusionGraph& graph, int node) {
  return graph.expensive(node) ? work_of_function : 1;
}

std::int64_t products_of(const Grower& group) {
  return std::ranges::count_if(group.members(), [&](const auto& member) {
    return group.graph().node(member.first).op->op_class == OpClass::Contraction;
  });
}

/// Nodes that are looked through for a reduction.
constexpr std::size_t most_looked_through = 16;

/// True where the node takes what a reduction gives, directly or behind element-wise nodes that
/// have no group yet: the reduction's kernel may compute them all.
bool reduction_feeds(const FusionGraph& graph, int node) {
  std::vector<int> unvisited{node};
  for (std::size_t next = 0; next < unvisited.size() && next < most_looked_through; ++next) {
    for (const ValueId input : graph.node(unvisited[next]).inputs) {
      const int producer = graph.root_producer(input);
      if (producer < 0 || graph.group_of(producer) != no_group) continue;
      const OpClass kind = graph.node(producer).op->op_class;
      if (kind == OpClass::Reduction) return true;
      if (kind == OpClass::Elementwise) unvisited.push_back(producer);
    }
  }
  return false;
}

std::vector<DType> dtypes_of(const FusionGraph& graph, int node) {
  std::vector<DType> dtypes;
  for (const std::vector<ValueId>* values : {&graph.node(node).inputs, &graph.node(node).outputs}) {
    for (const ValueId value : *values) dtypes.push_back(graph.module().value(value).type.dtype);
  }
  return dtypes;
}

}  // namespace

std::optional<int> factor_fed_by(const Grower& group, int node) {
  const FusionGraph& graph = group.graph();
  if (group.options().prologue_columns == 0 || group.kind() != Backbone::Matmul)
    return std::nullopt;
  for (const Edge& edge : graph.readers(graph.node(node).outputs[0])) {
    if (!group.is_member(edge.node)) continue;
    if (graph.node(edge.node).op->op_class != OpClass::Contraction)
      return group.factor_of(edge.node);
    if (may_compute(group, edge)) return edge.input;
    return std::nullopt;
  }
  return std::nullopt;
}

bool is_place_of_factor(const Grower& group, int factor, const Coords& place) {
  if (place.empty()) return false;
  const auto k = static_cast<int>(group.extents().size()) - 1, m = k - 2;
  std::set<int> axes;
  for (const Coord& coord : place) {
    if (coord.offset.constant() != 0) return false;
    if (coord.terms.empty()) continue;
    const std::optional<int> axis = unit_axis(coord);
    if (!axis || !axes.insert(*axis).second) return false;
  }
  return axes.contains(factor == 0 ? m : k) && axes.contains(lane_axis_of(group, factor));
}

bool reads_across(const Grower& group, int factor, int node, const Coords& place) {
  const int lane = lane_axis_of(group, factor);
  const auto varies = [&](const Coord& coord) {
    return std::ranges::find(coord.terms, lane, &CoordTerm::axis) != coord.terms.end();
  };
  const Node& reader = group.graph().node(node);
  for (std::size_t input = 0; input < reader.inputs.size(); ++input) {
    const auto at = group.root_place(node, static_cast<int>(input), place);
    if (!at) return true;
    const auto across = std::ranges::count_if(*at, varies);
    if (across > 1 || (across == 1 && unit_axis(at->back()) != lane)) return true;
  }
  return false;
}

bool prologue_pays(const Grower& group, int factor, int node) {
  std::int64_t work = work_of(group.graph(), node);
  for (const auto& [member, of] : group.prologue()) {
    if (of == factor) work += work_of(group.graph(), member);
  }
  if (const auto& pays = group.options().prologue_pays)
    return pays({factor, work, group.extents(), products_of(group),
                 reduction_feeds(group.graph(), node), dtypes_of(group.graph(), node)});
  return factor == 1 ? work <= most_work_on_right : has_columns_for(group, work);
}

bool another_passes_over(const Grower& group, int node) {
  const FusionGraph& graph = group.graph();
  return std::ranges::any_of(graph.node(node).inputs, [&](ValueId input) {
    const int producer = graph.root_producer(input);
    if (producer < 0 || graph.group_of(producer) != no_group || graph.free(producer)) return false;
    const OpClass kind = graph.node(producer).op->op_class;
    return kind == OpClass::Reduction || kind == OpClass::Indexed;
  });
}

}  // namespace dyn::graph
