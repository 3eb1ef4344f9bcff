#pragma once
// States: buffers that a session keeps from run to run. `append` is the one operator that takes
// them.

#include "graph/ir/op.hpp"

namespace dyn::graph {

bool is_append(const Node& node);

/// The symbol of `at` where that is nothing but a symbol: the number of positions that the session
/// has.
std::optional<int> length_symbol(const Node& append);

/// Calls visit(symbol) for every symbol whose value a session gives: those of the states' dims, and
/// of `at`.
template <class Visit>
void for_each_session_symbol(const Module& module, const Visit& visit);

/// Part of verify: a state is consumed once, by an append, and read through nothing else than that
/// append's result.
void verify_states(const Module& module);

/// Sets module.length and module.growth. Throws Error(model) where nothing appends to a state, or
/// appends disagree on the length.
void find_length(Module& module);

/// Describes how states lie beside the appended axis, and where that axis is.
struct AppendedState {
  ValueId state = no_value;
  int axis = 0;
  bool at_length =
      false;  ///< positions are appended at module.length, so that none beyond it is ever filled
};
/// One for each state, in the order of module.states; an append that was removed as dead leaves
/// axis 0.
std::vector<AppendedState> appended_states(const Module& module);

template <class Visit>
void for_each_session_symbol(const Module& module, const Visit& visit) {
  for (const ValueId id : module.states) {
    for (const Dim dim : module.value(id).type.dims) for_each_symbol(dim, visit);
  }
  for (const Node& node : module.nodes) {
    if (!is_append(node)) continue;
    if (const auto symbol = length_symbol(node)) visit(*symbol);
  }
}

}  // namespace dyn::graph
