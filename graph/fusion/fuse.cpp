// Groups in priority order: around matmuls and attention, around reductions, then what is left.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "graph/fusion/grower.hpp"
#include "graph/fusion/layout.hpp"
#include "graph/fusion/reasons.hpp"

namespace dyn::graph {
namespace {

void grow_from(FusionGraph& graph, Fusion& fusion, int id, const FuseOptions& options) {
  if (graph.group_of(id) != no_group || graph.free(id)) return;
  Grower grower(graph, id, static_cast<int>(fusion.groups.size()), options);
  grower.grow();
  fusion.groups.push_back(grower.finish());
}

void grow_all(FusionGraph& graph, Fusion& fusion, const FuseOptions& options) {
  for (const OpClass backbone : {OpClass::Host, OpClass::Recurrence, OpClass::Contraction,
                                 OpClass::Attention, OpClass::Reduction}) {
    for (const int id : graph.order()) {
      if (graph.node(id).op->op_class == backbone) grow_from(graph, fusion, id, options);
    }
  }
  // A chain grows upwards from its last node.
  for (auto id = graph.order().rbegin(); id != graph.order().rend(); ++id)
    grow_from(graph, fusion, *id, options);
}

/// Copies run right after what they copy.
int time_of(const FusionGraph& graph, const Module& module, const Group& group) {
  if (group.backbone != Backbone::Copy) return graph.time_of(group.backbone_node);
  const ValueId source = viewed(module.nodes[static_cast<std::size_t>(group.backbone_node)]);
  return graph.available(graph.root(source));
}

void sort_by_time(const FusionGraph& graph, const Module& module, Fusion& fusion) {
  std::vector<std::pair<int, std::size_t>> order;
  for (std::size_t i = 0; i < fusion.groups.size(); ++i) {
    const Group& group = fusion.groups[i];
    order.emplace_back(2 * time_of(graph, module, group) + (group.backbone == Backbone::Copy), i);
  }
  std::ranges::sort(order);
  std::vector<Group> sorted;
  for (const auto& [time, i] : order) sorted.push_back(std::move(fusion.groups[i]));
  fusion.groups = std::move(sorted);
}

std::string stem_of(const Module& module, const Group& group) {
  if (group.backbone == Backbone::Copy) return "copy";
  const Node& node = module.nodes[static_cast<std::size_t>(group.backbone_node)];
  return group.backbone == Backbone::Matmul || node.origin.empty() ? node.op->name : node.origin;
}

void name_groups(const Module& module, Fusion& fusion) {
  std::map<std::string, int> count;
  for (Group& group : fusion.groups) {
    const std::string stem = stem_of(module, group);
    group.name = fmt::format("{}_{}", stem, count[stem]++);
  }
}

}  // namespace

Fusion fuse(Module& module, const FuseOptions& options) {
  FusionGraph graph(module);
  Fusion fusion;
  grow_all(graph, fusion, options);
  lay_out(module, graph, fusion, options);
  sort_by_time(graph, module, fusion);
  name_groups(module, fusion);
  explain_memory(module, fusion);
  return fusion;
}

}  // namespace dyn::graph
