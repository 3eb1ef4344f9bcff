#pragma once
// The grower of groups asks here who reads a value through views, and in which order nodes can run.

#include <limits>
#include <vector>

#include "graph/fusion/group.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

/// Node `node` (no view) reads a value as its input number `input`, perhaps through views.
struct Edge {
  int node;
  int input;
};

inline constexpr int no_group = -1;
/// The time of what exists before any group runs.
inline constexpr int start_of_time = -1;

/// Time: every node has a position in a topological order, every group the position of its anchor,
/// one of its nodes. The invariant of fusion: along each edge between two groups (or nodes that
/// have no group yet) time increases. So groups in the order of their anchors are an order of
/// execution, and no cycle needs to be searched for.
class FusionGraph {
 public:
  /// Throws Error(internal) where the module still has compound operators.
  explicit FusionGraph(const Module& module);

  const Module& module() const noexcept { return module_; }
  const Node& node(int id) const { return module_.nodes[static_cast<std::size_t>(id)]; }
  const std::vector<Dim>& dims(ValueId id) const { return module_.value(id).type.dims; }

  bool is_view(int id) const { return node(id).op->op_class == OpClass::View; }
  bool live(int id) const { return live_[static_cast<std::size_t>(id)]; }
  /// Computed anew wherever it is read: reads no memory, costs next to nothing.
  bool free(int id) const { return free_[static_cast<std::size_t>(id)]; }
  /// Costs many instructions, so that it is not repeated along broadcast axes.
  bool expensive(int id) const;
  int position(int id) const { return position_[static_cast<std::size_t>(id)]; }
  /// Live nodes that are no views, by position.
  const std::vector<int>& order() const noexcept { return order_; }

  /// The value behind all views: made by a node that is no view, or by none. A state after its
  /// append has the root of what is appended.
  ValueId root(ValueId id) const { return root_[static_cast<std::size_t>(id)]; }
  /// True for a state after its append, and for a view of that: it is in memory, wherever its root
  /// is computed.
  bool in_state(ValueId id) const { return in_state_[static_cast<std::size_t>(id)]; }
  /// The node that makes the root of `id`; -1: none.
  int root_producer(ValueId id) const { return module_.value(root(id)).producer; }
  /// Reads of a root by live nodes.
  const std::vector<Edge>& readers(ValueId root) const {
    return readers_[static_cast<std::size_t>(root)];
  }
  /// Whether the value, or a view of it, is an output of the graph.
  bool is_output(ValueId root) const { return output_[static_cast<std::size_t>(root)]; }

  int group_of(int id) const { return group_of_[static_cast<std::size_t>(id)]; }
  void assign(int id, int group, int anchor);
  /// When the node has run: its group's anchor, or its own position.
  int time_of(int id) const;
  /// When a root can be read.
  int available(ValueId root) const;

 private:
  void find_live();
  void find_positions();
  void find_readers();
  void find_free();
  bool must_be_stored(ValueId root) const;
  bool reads_only_free(const Node& node) const;

  const Module& module_;
  std::vector<bool> live_, free_, output_, in_state_;
  std::vector<int> position_, order_, group_of_, anchor_;
  std::vector<ValueId> root_;
  std::vector<std::vector<Edge>> readers_;
};

}  // namespace dyn::graph
