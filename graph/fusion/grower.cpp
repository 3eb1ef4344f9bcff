#include "graph/fusion/grower.hpp"

#include <algorithm>

namespace dyn::graph {
namespace {

bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Dim x, Dim y) { return prove_equal(x, y) == true; });
}

std::vector<bool> reduced_axes(const Node& node, int rank) {
  const auto axes = attr_integers(node, "axes");
  std::vector<bool> reduced(static_cast<std::size_t>(rank), axes.empty());
  for (const std::int64_t axis : axes)
    reduced[static_cast<std::size_t>(*normalize_axis(axis, rank))] = true;
  return reduced;
}

}  // namespace

Grower::Grower(FusionGraph& graph, int backbone_node, int group)
    : graph_(graph), module_(graph.module()), backbone_(backbone_node), group_(group) {
  start();
}

void Grower::start() {
  const Node& node = graph_.node(backbone_);
  if (node.op->op_class == OpClass::Host) {
    kind_ = Backbone::Host;
    return add(backbone_, {});
  }
  const auto& output_dims = graph_.dims(node.outputs[0]);
  if (node.op->op_class == OpClass::Reduction) {
    kind_ = Backbone::Reduction;
    extents_ = graph_.dims(node.inputs[0]);
    reduced_ = reduced_axes(node, static_cast<int>(extents_.size()));
    return add(backbone_, *place_of_reduction(backbone_));
  }
  extents_ = output_dims;
  reduced_.assign(extents_.size(), false);
  Coords coords = identity_coords(*module_.dims, static_cast<int>(output_dims.size()));
  if (node.op->op_class == OpClass::Contraction) {
    kind_ = Backbone::Matmul;
    extents_.push_back(depth_of(node));
    reduced_.push_back(true);
  }
  if (node.op->op_class == OpClass::Attention) {
    kind_ = Backbone::Attention;
    const auto& k = graph_.dims(node.inputs[1]);
    extents_.insert(extents_.end(), k.end() - 2, k.end());
    reduced_.insert(reduced_.end(), 2, true);
  }
  add(backbone_, std::move(coords));
}

/// How many products a contraction adds up for each result.
Dim Grower::depth_of(const Node& contraction) const {
  const auto &a = graph_.dims(contraction.inputs[0]), &b = graph_.dims(contraction.inputs[1]);
  if (contraction.op->id == OpId::WindowMatmul) return b[b.size() - 2];
  return attr_boolean(contraction, "transpose_a") ? a[a.size() - 2] : a.back();
}

void Grower::add(int id, Coords coords) {
  members_.emplace(id, std::move(coords));
  graph_.assign(id, group_, anchor());
  unvisited_.push_back(id);
}

void Grower::grow() {
  if (kind_ == Backbone::Host) return;
  while (!unvisited_.empty()) {
    const int id = unvisited_.back();
    unvisited_.pop_back();
    for (const Edge& edge : graph_.readers(graph_.node(id).outputs[0])) try_consumer(edge.node);
    for (const ValueId input : graph_.node(id).inputs) {
      const int producer = graph_.root_producer(input);
      if (producer >= 0) try_producer(producer);
    }
  }
}

void Grower::try_consumer(int id) {
  if (kind_ == Backbone::Attention || graph_.group_of(id) != no_group || graph_.free(id)) return;
  const auto coords = place_of_consumer(id);
  if (coords && operands_fit(id, *coords)) add(id, *coords);
}

std::optional<Coords> Grower::place_of_consumer(int id) const {
  if (kind_ == Backbone::Elementwise)
    return std::nullopt;  // They grow from their last node upwards.
  const OpClass op_class = graph_.node(id).op->op_class;
  if (op_class == OpClass::Reduction && kind_ == Backbone::Reduction) return place_of_reduction(id);
  if (op_class != OpClass::Elementwise) return std::nullopt;
  auto coords = place_next_to_member(id);
  const auto& dims = graph_.dims(graph_.node(id).outputs[0]);
  if (!coords && kind_ == Backbone::Reduction && matches_extents(dims)) {
    coords = identity_coords(*module_.dims, static_cast<int>(extents_.size()));
  }
  if (!coords || !readers_wait(id)) return std::nullopt;
  return spans(*coords, dims) ? coords : std::nullopt;
}

std::optional<Coords> Grower::place_of_reduction(int id) const {
  const Node& node = graph_.node(id);
  if (!matches_extents(graph_.dims(node.inputs[0])) ||
      reduced_axes(node, static_cast<int>(extents_.size())) != reduced_) {
    return std::nullopt;
  }
  Coords coords;
  for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
    if (!reduced_[axis]) coords.push_back(axis_coord(*module_.dims, static_cast<int>(axis)));
    if (reduced_[axis] && attr_boolean(node, "keepdims"))
      coords.push_back(fixed_coord(module_.dims->constant(0)));
  }
  return coords;
}

/// A member's place carried along views to an operand of node `id` that has the dims of its result.
std::optional<Coords> Grower::place_next_to_member(int id) const {
  const Node& node = graph_.node(id);
  for (const ValueId input : node.inputs) {
    const int producer = graph_.root_producer(input);
    if (producer < 0 || !is_member(producer) ||
        !same_dims(graph_.dims(input), graph_.dims(node.outputs[0])))
      continue;
    std::vector<int> views;
    for (ValueId value = input; value != graph_.root(input);
         value = viewed(graph_.node(views.back()))) {
      views.push_back(module_.value(value).producer);
    }
    std::optional<Coords> coords = members_.at(producer);
    for (; coords && !views.empty(); views.pop_back()) {
      coords = coords_out_of_view(module_, graph_.node(views.back()), *coords);
    }
    if (coords) return coords;
  }
  return std::nullopt;
}

std::optional<Coords> Grower::root_place(int id, int input, const Coords& coords) const {
  const Node& node = graph_.node(id);
  std::optional<Coords> place;
  if (node.op->op_class == OpClass::Reduction) {
    place = identity_coords(*module_.dims, static_cast<int>(extents_.size()));
  } else {
    place = operand_place(module_, node, input, coords);
  }
  ValueId value = node.inputs[static_cast<std::size_t>(input)];
  while (place && value != graph_.root(value)) {
    const Node& view = graph_.node(module_.value(value).producer);
    place = coords_through_view(module_, view, *place);
    value = viewed(view);
  }
  return place;
}

bool Grower::operands_fit(int id, const Coords& coords) const {
  for (std::size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
    if (!operand_fits(id, static_cast<int>(i), coords)) return false;
  }
  return true;
}

bool Grower::operand_fits(int id, int input, const Coords& coords) const {
  const Node& node = graph_.node(id);
  const ValueId root = graph_.root(node.inputs[static_cast<std::size_t>(input)]);
  const int producer = module_.value(root).producer;
  const bool from_memory = producer < 0 || !(is_member(producer) || graph_.free(producer));
  if (from_memory && graph_.available(root) >= anchor()) {
    // A producer without a group may still join, as far as it does not need the group itself.
    return false;
  }
  if (reads_memory(node, static_cast<std::size_t>(input))) return from_memory;
  if (node.op->op_class == OpClass::Indexed && !operand_place(module_, node, input, coords))
    return false;
  if (from_memory) return true;
  const auto place = root_place(id, input, coords);
  return place && (graph_.free(producer) || *place == members_.at(producer));
}

void Grower::try_producer(int id) {
  if (kind_ == Backbone::Attention || graph_.group_of(id) != no_group || graph_.free(id)) return;
  const OpClass op_class = graph_.node(id).op->op_class;
  if (contracts(op_class) || op_class == OpClass::Host ||
      (op_class == OpClass::Indexed && kind_ == Backbone::Matmul))
    return;
  if (op_class == OpClass::Reduction && kind_ != Backbone::Reduction) return;
  const auto coords = place_of_producer(id);
  if (!coords || (op_class == OpClass::Reduction && place_of_reduction(id) != coords)) return;
  if (may_repeat(id, *coords) && operands_fit(id, *coords)) add(id, *coords);
}

/// The one place where all members read the node's result, if there is one, and other readers, if
/// any, can wait.
std::optional<Coords> Grower::place_of_producer(int id) const {
  const ValueId result = graph_.node(id).outputs[0];
  std::optional<Coords> coords;
  bool stored = graph_.is_output(result);
  for (const Edge& edge : graph_.readers(result)) {
    const auto member = members_.find(edge.node);
    if (member == members_.end()) {
      stored = true;
      continue;
    }
    const Node& reader = graph_.node(edge.node);
    if (reads_memory(reader, static_cast<std::size_t>(edge.input))) return std::nullopt;
    const auto place = root_place(edge.node, edge.input, member->second);
    if (!place || (coords && *coords != *place)) return std::nullopt;
    coords = place;
  }
  if (!coords || (stored && (kind_ == Backbone::Matmul || !readers_wait(id)))) return std::nullopt;
  return stored && !spans(*coords, graph_.dims(result)) ? std::nullopt : coords;
}

/// Whether everything that reads the node's result outside of the group runs after the group.
bool Grower::readers_wait(int id) const {
  return std::ranges::all_of(graph_.readers(graph_.node(id).outputs[0]), [&](const Edge& edge) {
    return is_member(edge.node) || graph_.time_of(edge.node) > anchor();
  });
}

/// Whether the place runs over all of a tensor of these dims, and over every axis that is not
/// reduced, each once. Of the reduced ones it must run over all or none, and of a matmul's K never.
bool Grower::spans(const Coords& coords, const std::vector<Dim>& dims) const {
  std::vector<bool> seen(extents_.size(), false);
  for (std::size_t i = 0; i < coords.size(); ++i) {
    if (coords[i].offset.constant() != 0) return false;
    if (coords[i].terms.empty() && dims[i].constant() == 1) continue;
    const auto axis = unit_axis(coords[i]);
    if (!axis || seen[static_cast<std::size_t>(*axis)]) return false;
    if (prove_equal(dims[i], extents_[static_cast<std::size_t>(*axis)]) != true) return false;
    seen[static_cast<std::size_t>(*axis)] = true;
  }
  int reduced = 0, reduced_seen = 0;
  for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
    if (extents_[axis].constant() == 1) continue;
    if (!reduced_[axis] && !seen[axis]) return false;
    reduced += reduced_[axis];
    reduced_seen += reduced_[axis] && seen[axis];
  }
  return reduced_seen == 0 || (reduced_seen == reduced && kind_ != Backbone::Matmul);
}

bool Grower::matches_extents(const std::vector<Dim>& dims) const {
  return same_dims(dims, extents_);
}

/// Work along a broadcast axis is done once for each of its indices.
bool Grower::may_repeat(int id, const Coords& coords) const {
  if (spans(coords, graph_.dims(graph_.node(id).outputs[0]))) return true;
  return kind_ != Backbone::Matmul && !graph_.expensive(id);
}

Group Grower::finish() const {
  Group group;
  std::set<int> nodes;
  group.backbone = kind_;
  group.backbone_node = backbone_;
  group.extents = extents_;
  group.reduced = reduced_;
  if (kind_ == Backbone::Host) {
    group.nodes = {backbone_};
    group.outputs = graph_.node(backbone_).outputs;
    group.output_coords.resize(group.outputs.size());
    return group;
  }
  for (const auto& [id, coords] : members_) {
    nodes.insert(id);
    collect_free(id, nodes);
    const ValueId result = graph_.node(id).outputs[0];
    const bool read_elsewhere = std::ranges::any_of(
        graph_.readers(result), [&](const Edge& edge) { return !is_member(edge.node); });
    if (!read_elsewhere && !graph_.is_output(result)) continue;
    group.outputs.push_back(result);
    group.output_coords.push_back(coords);
  }
  group.nodes.assign(nodes.begin(), nodes.end());
  return group;
}

void Grower::collect_free(int id, std::set<int>& nodes) const {
  for (const ValueId input : graph_.node(id).inputs) {
    const int producer = graph_.root_producer(input);
    if (producer >= 0 && graph_.free(producer) && nodes.insert(producer).second)
      collect_free(producer, nodes);
  }
}

}  // namespace dyn::graph
