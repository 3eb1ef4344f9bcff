#pragma once
// One group while it grows: members and the place in its index space of what each computes.

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "graph/fusion/fusion_graph.hpp"

namespace dyn::graph {

class Grower {
 public:
  /// A group of `backbone_node` alone.
  Grower(FusionGraph& graph, int backbone_node, int group);

  /// Adds consumers and producers until none fits.
  void grow();

  /// The finished group, but for its name.
  Group finish() const;

 private:
  bool is_member(int id) const { return members_.contains(id); }
  int anchor() const { return graph_.position(backbone_); }
  void start();
  Dim depth_of(const Node& contraction) const;
  void add(int id, Coords coords);

  void try_consumer(int id);
  void try_producer(int id);

  std::optional<Coords> place_of_consumer(int id) const;
  std::optional<Coords> place_of_reduction(int id) const;
  std::optional<Coords> place_next_to_member(int id) const;
  std::optional<Coords> place_of_producer(int id) const;
  /// Where the group reads the root of node's input; nothing: no affine function of the axes tells.
  std::optional<Coords> root_place(int id, int input, const Coords& coords) const;
  /// Whether node `id` at `coords` reads nothing that comes too late, and members only where they
  /// are computed.
  bool operands_fit(int id, const Coords& coords) const;
  bool operand_fits(int id, int input, const Coords& coords) const;
  bool readers_wait(int id) const;
  bool spans(const Coords& coords, const std::vector<Dim>& dims) const;
  bool matches_extents(const std::vector<Dim>& dims) const;
  bool may_repeat(int id, const Coords& coords) const;
  void collect_free(int id, std::set<int>& nodes) const;

  FusionGraph& graph_;
  const Module& module_;
  const int backbone_, group_;
  Backbone kind_ = Backbone::Elementwise;
  std::vector<Dim> extents_;
  std::vector<bool> reduced_;
  std::map<int, Coords> members_;  ///< place of each member's result
  std::vector<int> unvisited_;     ///< members whose neighbours have not been tried
};

/// Where node reads input `input` (before any views) when it computes its result at `coords`.
/// Reductions: nothing.
std::optional<Coords> operand_place(const Module& module, const Node& node, int input,
                                    const Coords& coords);

}  // namespace dyn::graph
