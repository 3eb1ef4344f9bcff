#include "graph/fusion/shared_inputs.hpp"

#include <set>

#include "graph/fusion/grower.hpp"

namespace dyn::graph {
namespace {

/// Whoever reads a tensor of more readers is not looked for: each group that reads it would go
/// through all of them.
constexpr std::size_t most_readers = 32;

bool is_over_whole_space(const Grower& group, int node, int input) {
  const auto place = group.root_place(node, input, group.whole_space());
  return place && group.same_place(*place, group.whole_space());
}

class Search {
 public:
  explicit Search(const Grower& group) : group_(group), graph_(group.graph()) {}

  void visit_members() {
    for (const auto& [id, coords] : group_.members()) {
      const Node& node = graph_.node(id);
      for (std::size_t input = 0; input < node.inputs.size(); ++input) {
        // Elements at computed places are not those of the space.
        if (reads_memory(group_.module(), node, input)) continue;
        const ValueId root = graph_.root(node.inputs[input]);
        if (comes_from_memory(root) && !graph_.in_state(node.inputs[input]) &&
            group_.matches_extents(graph_.dims(root)) && reads_whole(id, static_cast<int>(input)))
          visit_readers(root);
      }
    }
  }

  std::vector<int> found() const { return {found_.begin(), found_.end()}; }

 private:
  bool comes_from_memory(ValueId root) const {
    const Value& value = group_.module().value(root);
    return value.producer < 0 ? value.kind != ValueKind::Constant
                              : !group_.is_member(value.producer) && !graph_.free(value.producer);
  }

  bool reads_whole(int member, int input) const {
    const auto place = group_.root_place(member, input, group_.place_of(member));
    return place && group_.same_place(*place, group_.whole_space());
  }

  bool is_open(int id) const {
    return !group_.is_member(id) && graph_.group_of(id) == no_group && !graph_.free(id);
  }

  bool is_work_on_space(const Edge& edge) const {
    const Node& node = graph_.node(edge.node);
    return node.op->op_class == OpClass::Elementwise &&
           group_.matches_extents(graph_.dims(node.outputs[0])) &&
           is_over_whole_space(group_, edge.node, edge.input);
  }

  bool reduces_space(const Edge& edge) const {
    return graph_.node(edge.node).op->op_class == OpClass::Reduction &&
           group_.place_of_reduction(edge.node) &&
           is_over_whole_space(group_, edge.node, edge.input);
  }

  void visit_readers(ValueId root) {
    const std::vector<Edge>& readers = graph_.readers(root);
    if (readers.size() > most_readers || !visited_.insert(root).second) return;
    for (const Edge& edge : readers) {
      if (!is_open(edge.node)) continue;
      if (group_.kind() == Backbone::Elementwise) {
        if (is_work_on_space(edge)) found_.insert(edge.node);
      } else if (reduces_space(edge)) {
        found_.insert(edge.node);
      } else if (is_work_on_space(edge)) {
        visit_reductions_behind(edge.node);
      }
    }
  }

  void visit_reductions_behind(int id) {
    for (const Edge& edge : graph_.readers(graph_.node(id).outputs[0])) {
      if (is_open(edge.node) && reduces_space(edge)) found_.insert(edge.node);
    }
  }

  const Grower& group_;
  const FusionGraph& graph_;
  std::set<ValueId> visited_;
  std::set<int> found_;
};

}  // namespace

std::vector<int> nodes_sharing_inputs(const Grower& group) {
  if (group.kind() != Backbone::Reduction && group.kind() != Backbone::Elementwise) return {};
  Search search(group);
  search.visit_members();
  return search.found();
}

}  // namespace dyn::graph
