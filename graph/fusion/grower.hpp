#pragma once
// One group while it grows: members and the place in its index space of what each computes.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "graph/fusion/fusion_graph.hpp"
#include "graph/fusion/rules.hpp"

namespace dyn::graph {

/// Rules (graph/fusion/rules.hpp) ask about the group through the const members.
class Grower {
 public:
  /// A group of `backbone_node` alone.
  Grower(FusionGraph& graph, int backbone_node, int group, const FuseOptions& options);

  /// Adds consumers and producers until the rules let none join.
  void grow();

  /// The finished group, but for its name.
  Group finish();

  const FusionGraph& graph() const noexcept { return graph_; }
  const Module& module() const noexcept { return module_; }
  Backbone kind() const noexcept { return kind_; }
  const FuseOptions& options() const noexcept { return options_; }
  const Node& backbone() const { return graph_.node(backbone_); }
  bool is_member(int id) const { return members_.contains(id); }
  /// With the place of the result of each.
  const std::map<int, Coords>& members() const noexcept { return members_; }
  /// Where a member's result is computed.
  const Coords& place_of(int member) const { return members_.at(member); }
  /// When the group runs.
  int anchor() const { return graph_.position(backbone_); }
  /// False where one kernel would hold more than pays: what a node more saves is a pass over one
  /// tensor, and what it costs grows with the group, in registers and in the time to compile.
  bool has_room_for(int id) const;

  const std::vector<Dim>& extents() const noexcept { return extents_; }
  /// Members that compute a factor of the matmul, with its number among the matmul's inputs.
  const std::map<int, int>& prologue() const noexcept { return prologue_; }
  std::optional<int> factor_of(int member) const {
    const auto found = prologue_.find(member);
    return found == prologue_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Every index of every axis once.
  Coords whole_space() const;
  bool matches_extents(const std::vector<Dim>& dims) const;
  /// True where both are one place; along an axis of one element, every index is its only one.
  bool same_place(const Coords& a, const Coords& b) const;
  /// True where the place runs over all of a tensor of these dims, and over every axis that is not
  /// reduced, each once. Reduced ones it must run over all or none, and a matmul's K never.
  bool spans(const Coords& coords, const std::vector<Dim>& dims) const;
  /// Where the group computes the reduction's result; nothing: it reduces another space or other
  /// axes.
  std::optional<Coords> place_of_reduction(int id) const;
  /// Where the group reads the root of node's input, when it computes the node's result at
  /// `coords`; nothing: no affine function of the axes tells.
  std::optional<Coords> root_place(int id, int input, const Coords& coords) const;

 private:
  void start();
  void visit_neighbours();
  bool add_sharing_inputs();
  void add_gated_products();
  Dim depth_of(const Node& contraction) const;
  void add(int id, Coords coords);
  void consider(Candidate candidate);
  /// The first of the rules that refuses the candidate; nullptr: none does.
  const FusionRule* refusal(std::span<const RefusingRule> rules, Candidate& candidate) const;
  /// Sets the candidate's place. The rule that gave it, or no_place.
  const FusionRule* give_place(Candidate& candidate) const;
  void record(const Candidate& candidate, const FusionRule& rule);
  void collect_members(Group& group);
  void collect_free(int id, std::set<int>& nodes);

  FusionGraph& graph_;
  const Module& module_;
  const int backbone_, group_;
  const FuseOptions options_;
  Backbone kind_ = Backbone::Elementwise;
  std::vector<Dim> extents_;
  std::vector<bool> reduced_;
  std::map<int, Coords> members_;  ///< place of each member's result
  std::vector<int> unvisited_;     ///< members whose neighbours have not been tried
  std::map<int, int> prologue_;
  std::map<int, FusionDecision> decisions_;
  std::size_t work_ = 0, operands_ = 0;  ///< of the members; an operand that two read counts twice
};

/// True where both are provably the same for all values of the symbols.
bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b);

/// Where node reads input `input` (before any views) when it computes its result at `coords`.
/// Reductions: nothing.
std::optional<Coords> operand_place(const Module& module, const Node& node, int input,
                                    const Coords& coords);

}  // namespace dyn::graph
