#pragma once
// The rules by which a node joins a growing group or is refused: tables that Grower::consider
// walks in order. The first rule that holds decides.

#include <optional>
#include <span>
#include <vector>

#include "graph/fusion/group.hpp"

namespace dyn::graph {

class Grower;

/// A node that reads a member's result, or whose result a member reads, or that reads what a member
/// reads, and is no member yet.
struct Candidate {
  int node = -1;
  bool reads_member = false;  ///< false: a member reads it
  bool beside = false;        ///< neither: it reads what a member reads
  Coords place = {};          ///< where in the group's index space its result would be computed
  ValueId about = no_value;   ///< a refusing rule may say here which tensor decided
};

/// Gives the node a place in the group's index space, where the rule is for such a node and finds
/// one.
struct JoiningRule : FusionRule {
  using Place = std::optional<Coords> (*)(const Grower& group, const Candidate& candidate);
  constexpr JoiningRule(std::string_view name, std::string_view says, Place place_of)
      : FusionRule{name, says, true}, place(place_of) {}
  Place place;
};

struct RefusingRule : FusionRule {
  using Refuses = bool (*)(const Grower& group, Candidate& candidate);
  constexpr RefusingRule(std::string_view name, std::string_view says, Refuses refuses_it)
      : FusionRule{name, says, false}, refuses(refuses_it) {}
  Refuses refuses;
};

/// What no place would help: they look at the kinds of the node and of the group. The cheapest come
/// first.
std::span<const RefusingRule> refusals_by_kind();

/// A node that passed them joins by the first of these that gives it a place.
std::span<const JoiningRule> joining_rules();

/// A node that none of them gives a place is refused by this one.
extern const FusionRule no_place;

/// A node that has a place joins unless one of these refuses it there.
std::span<const RefusingRule> refusals_at_place();

/// Nodes that FusionGraph::free() names join by this one: they are considered nowhere, and every
/// group that reads them computes them.
extern const FusionRule free_work;

/// Products that Grower::start() finds beside the group's join by this one.
extern const FusionRule same_left_side;

/// All of the above, for people.
std::vector<const FusionRule*> fusion_rules();

}  // namespace dyn::graph
