#include "graph/fusion/prologue.hpp"

#include <algorithm>

#include "graph/ops/sliding_window.hpp"

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

bool slides_over(const Node& product) { return product.op->id == OpId::WindowMatmul; }

/// The places outside of an image are 0, whatever is computed inside of it.
bool may_compute_image(const Grower& group, const Edge& edge) {
  const Node& product = group.graph().node(edge.node);
  const std::int64_t least = group.options().image_channels;
  const auto channels = group.graph().dims(product.inputs[0]).back().constant();
  return edge.input == 0 && least > 0 && channels && *channels >= least &&
         !has_groups(group.module(), product) && attr_integer(product, "value") == 0;
}

/// Kernels multiply computed factors of f32 alone, in whole matrices.
bool may_compute(const Grower& group, const Edge& edge) {
  const FusionGraph& graph = group.graph();
  const Node& product = graph.node(edge.node);
  if (slides_over(product) ? !may_compute_image(group, edge)
                           : product.op->id != OpId::Matmul || edge.input > 1)
    return false;
  const ValueId factor = product.inputs[static_cast<std::size_t>(edge.input)];
  const auto is_f32 = [&](ValueId id) { return group.module().value(id).type.dtype == DType::f32; };
  return is_f32(product.inputs[0]) && is_f32(product.inputs[1]) && !graph.in_state(factor) &&
         has_columns_for(group, least_work);
}

std::int64_t work_of(const FusionGraph& graph, int node) {
  return graph.expensive(node) ? work_of_function : 1;
}

/// How often an element of the factor is computed for a block of results. Windows that overlap
/// along two axes or more are found in a copy of the image's rows, where each element is once.
std::int64_t repeats_in_block(const Grower& group) {
  const Node& product = group.backbone();
  if (!slides_over(product)) return 1;
  const std::vector<SlidingWindow> windows = windows_of(group.module(), product);
  std::int64_t repeats = 1;
  bool overlap = windows.size() >= 2 && windows.back().dilation == 1;
  for (const SlidingWindow& window : windows) {
    overlap = overlap && window.stride <= window.size;
    repeats *= std::max<std::int64_t>(1, window.size / window.stride);
  }
  return overlap ? 1 : repeats;
}

/// A candidate for work on an image: each of its readers in the group takes its result as it is,
/// and all that it reads but one image of f32 is of channels.
bool works_on_image(const Grower& group, int node) {
  const FusionGraph& graph = group.graph();
  const Node& work = graph.node(node);
  const ValueId result = work.outputs[0], image = image_input(group.module(), work);
  if (image == no_value) return false;
  const int producer = graph.root_producer(image);
  const bool is_literal = producer < 0
                              ? group.module().value(graph.root(image)).kind == ValueKind::Constant
                              : graph.free(producer);
  return !is_literal && same_dims(graph.dims(image), graph.dims(result)) &&
         group.module().value(image).type.dtype == DType::f32 && !graph.in_state(image) &&
         std::ranges::all_of(graph.readers(result), [&](const Edge& edge) {
           return !group.is_member(edge.node) ||
                  graph.node(edge.node).inputs[static_cast<std::size_t>(edge.input)] == result;
         });
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
  if (slides_over(group.backbone())) {
    const auto channel = unit_axis(place.back());
    return channel == lane_axis_of(group, factor) &&
           std::all_of(place.begin(), place.end() - 1, [](const Coord& coord) {
             return coord.terms.empty() && coord.offset.constant() == 0;
           });
  }
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
  if (slides_over(group.backbone())) return !works_on_image(group, node);
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
  return factor == 1 ? work <= most_work_on_right
                     : has_columns_for(group, work * repeats_in_block(group));
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
