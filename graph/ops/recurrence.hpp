#pragma once
// Inputs of lstm, gru and rnn by number, and those that say nothing.

#include <cstddef>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// gru and rnn have no cells and no peepholes.
enum RecurrenceInput : std::size_t {
  recurrence_gates,
  recurrence_r,
  recurrence_bias,
  recurrence_lengths,
  recurrence_h,
  recurrence_c,
  recurrence_peepholes
};

/// True for lengths that are the number of all steps in every row, and for other inputs that are 0
/// everywhere: nobody needs to read them. Sees literals and ranges behind views, no weights.
bool is_plain_input(const Module& module, const Node& node, std::size_t input);

}  // namespace dyn::graph
