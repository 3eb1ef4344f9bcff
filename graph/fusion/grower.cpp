#include "graph/fusion/grower.hpp"

#include <algorithm>

#include "graph/fusion/gated_products.hpp"
#include "graph/fusion/prologue.hpp"
#include "graph/fusion/reduced_place.hpp"
#include "graph/fusion/shared_inputs.hpp"

namespace dyn::graph {
namespace {

// One kernel's. No block of a published model comes near; graphs that are unrolled or generated go
// far beyond (docs/architecture.md, "Large graphs").
constexpr std::size_t most_work = 128, most_operands = 256;

/// A node adds this to a kernel, in element-wise operators. A reduction is a pass of its own;
/// behind places that are chosen by comparing, as a concat's, everything is lowered once for each.
std::size_t work_of(const Node& node) {
  const bool chooses = node.op->id == OpId::Concat || node.op->id == OpId::Pad;
  return chooses || node.op->op_class == OpClass::Reduction ? 8 : 1;
}

/// Its group has neither other members nor an index space.
bool stands_alone(const Node& node) {
  return node.op->op_class == OpClass::Host || node.op->op_class == OpClass::Recurrence;
}

}  // namespace

bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](Dim x, Dim y) { return prove_equal(x, y) == true; });
}

Grower::Grower(FusionGraph& graph, int backbone_node, int group, const FuseOptions& options)
    : graph_(graph),
      module_(graph.module()),
      backbone_(backbone_node),
      group_(group),
      options_(options) {
  start();
}

void Grower::start() {
  const Node& node = graph_.node(backbone_);
  if (stands_alone(node)) {
    kind_ = node.op->op_class == OpClass::Host ? Backbone::Host : Backbone::Recurrence;
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
  if (kind_ == Backbone::Matmul) add_gated_products();
}

void Grower::add_gated_products() {
  for (const int id : gated_products(graph_, backbone_, options_)) {
    record({.node = id}, same_left_side);
    add(id, place_of(backbone_));
  }
}

/// How many products a contraction adds up for each result. A run checks that both factors have as
/// many; that of a weight is constant, and has to be where the weight is packed.
Dim Grower::depth_of(const Node& contraction) const {
  const auto &a = graph_.dims(contraction.inputs[0]), &b = graph_.dims(contraction.inputs[1]);
  if (contraction.op->id == OpId::WindowMatmul) return b[b.size() - 2];
  const Dim of_a = attr_boolean(contraction, "transpose_a") ? a[a.size() - 2] : a.back(),
            of_b = attr_boolean(contraction, "transpose_b") ? b.back() : b[b.size() - 2];
  return of_b.constant() ? of_b : of_a;
}

void Grower::add(int id, Coords coords) {
  members_.emplace(id, std::move(coords));
  work_ += work_of(graph_.node(id));
  operands_ += graph_.node(id).inputs.size();
  graph_.assign(id, group_, anchor());
  unvisited_.push_back(id);
}

bool Grower::has_room_for(int id) const {
  const Node& node = graph_.node(id);
  return work_ + work_of(node) <= most_work && operands_ + node.inputs.size() <= most_operands;
}

void Grower::grow() {
  do { visit_neighbours(); } while (options_.share_inputs && add_sharing_inputs());
}

bool Grower::add_sharing_inputs() {
  for (const int id : nodes_sharing_inputs(*this)) consider({.node = id, .beside = true});
  return !unvisited_.empty();
}

void Grower::visit_neighbours() {
  while (!unvisited_.empty()) {
    const int id = unvisited_.back();
    unvisited_.pop_back();
    for (const ValueId output : graph_.node(id).outputs) {
      for (const Edge& edge : graph_.readers(output))
        consider({.node = edge.node, .reads_member = true});
    }
    for (const ValueId input : graph_.node(id).inputs) {
      const int producer = graph_.root_producer(input);
      if (producer >= 0) consider({.node = producer, .reads_member = false});
    }
  }
}

const FusionRule* Grower::refusal(std::span<const RefusingRule> rules, Candidate& candidate) const {
  const auto found = std::ranges::find_if(
      rules, [&](const RefusingRule& rule) { return rule.refuses(*this, candidate); });
  return found == rules.end() ? nullptr : &*found;
}

const FusionRule* Grower::give_place(Candidate& candidate) const {
  for (const JoiningRule& rule : joining_rules()) {
    auto place = rule.place(*this, candidate);
    if (!place) continue;
    candidate.place = std::move(*place);
    return &rule;
  }
  return &no_place;
}

void Grower::consider(Candidate candidate) {
  if (is_member(candidate.node) || graph_.free(candidate.node)) return;
  const FusionRule* rule = refusal(refusals_by_kind(), candidate);
  if (rule == nullptr) rule = give_place(candidate);
  if (rule->joins) {
    if (const FusionRule* refused = refusal(refusals_at_place(), candidate)) rule = refused;
  }
  record(candidate, *rule);
  if (!rule->joins) return;
  if (const auto factor = factor_fed_by(*this, candidate.node); factor && !candidate.reads_member)
    prologue_.emplace(candidate.node, *factor);
  add(candidate.node, std::move(candidate.place));
}

void Grower::record(const Candidate& candidate, const FusionRule& rule) {
  if (options_.record_decisions)
    decisions_[candidate.node] = {candidate.node, &rule, candidate.about};
}

std::optional<Coords> Grower::place_of_reduction(int id) const {
  auto place = reduced_place(module_, extents_, reduced_, graph_.node(id));
  if (!place) return std::nullopt;
  return std::move(place->result);
}

Coords Grower::whole_space() const {
  return identity_coords(*module_.dims, static_cast<int>(extents_.size()));
}

std::optional<Coords> Grower::root_place(int id, int input, const Coords& coords) const {
  const Node& node = graph_.node(id);
  std::optional<Coords> place;
  ValueId value = node.inputs[static_cast<std::size_t>(input)];
  if (node.op->op_class == OpClass::Reduction) {
    const auto reduced = reduced_place(module_, extents_, reduced_, node);
    if (!reduced) return std::nullopt;
    place = whole_space();
    value = reduced->read;
  } else {
    place = operand_place(module_, node, input, coords);
  }
  while (place && value != graph_.root(value)) {
    const Node& view = graph_.node(module_.value(value).producer);
    place = coords_through_view(module_, view, *place);
    value = viewed(view);
  }
  return place;
}

bool Grower::same_place(const Coords& a, const Coords& b) const {
  const auto without_single = [&](Coord coord) {
    std::erase_if(coord.terms, [&](const CoordTerm& term) {
      return extents_[static_cast<std::size_t>(term.axis)].constant() == 1;
    });
    return coord;
  };
  return std::ranges::equal(a, b, {}, without_single, without_single);
}

bool Grower::spans(const Coords& coords, const std::vector<Dim>& dims) const {
  std::vector<bool> seen(extents_.size(), false);
  for (std::size_t i = 0; i < coords.size(); ++i) {
    if (coords[i].offset.constant() != 0) return false;
    if (coords[i].terms.empty() && dims[i].constant() == 1) continue;
    if (coords[i].terms.empty()) return false;
    // One axis, or several in row-major order.
    Dim elements = module_.dims->constant(1);
    for (auto term = coords[i].terms.rbegin(); term != coords[i].terms.rend(); ++term) {
      const auto axis = static_cast<std::size_t>(term->axis);
      if (seen[axis] || prove_equal(term->factor, elements) != true) return false;
      seen[axis] = true;
      elements = elements * extents_[axis];
    }
    if (prove_equal(dims[i], elements) != true) return false;
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

Group Grower::finish() {
  Group group;
  group.backbone = kind_;
  group.backbone_node = backbone_;
  group.extents = extents_;
  group.reduced = reduced_;
  if (stands_alone(graph_.node(backbone_))) {
    group.nodes = {backbone_};
    group.outputs = graph_.node(backbone_).outputs;
    group.output_coords.resize(group.outputs.size());
  } else {
    collect_members(group);
  }
  for (const auto& [id, decision] : decisions_) group.decisions.push_back(decision);
  return group;
}

void Grower::collect_members(Group& group) {
  std::set<int> nodes;
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
}

void Grower::collect_free(int id, std::set<int>& nodes) {
  for (const ValueId input : graph_.node(id).inputs) {
    const int producer = graph_.root_producer(input);
    if (producer < 0 || !graph_.free(producer) || !nodes.insert(producer).second) continue;
    record({.node = producer}, free_work);
    collect_free(producer, nodes);
  }
}

}  // namespace dyn::graph
