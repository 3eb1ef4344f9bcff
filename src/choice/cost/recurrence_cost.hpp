#pragma once
// What the steps of a recurrent layer cost, and into how many parts the batch is cut.

#include <string>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// Sizes of one recurrent layer.
struct RecurrenceShape {
  std::int64_t directions = 1, batch = 0, steps = 0, hidden = 0;
  int gates = 1;
  rkernel::Factors factors = {};  ///< of the states' products with the weights
  double cell_operations = 1;     ///< vector instructions of the cell for one vector of states
  int products = 1;               ///< of a step, each of which needs the one before
  bool may_share = false;         ///< code exists for several parts
};

/// Each direction's rows of the batch are cut in `row_blocks` blocks. `parts` threads share the
/// columns of a block's steps, and meet after each product. Neither changes a bit.
struct RecurrenceStrategy {
  std::int64_t row_blocks = 1, parts = 1;
  bool operator==(const RecurrenceStrategy&) const = default;
};

/// Predicted time on `threads` threads. `breakdown`, where given, receives every term.
double recurrence_cost(const Machine& machine, const RecurrenceShape& shape,
                       const RecurrenceStrategy& strategy, int threads,
                       CostBreakdown* breakdown = nullptr);

struct RecurrenceChoice {
  RecurrenceStrategy strategy;
  int threads = 1;
  double seconds = 0;
};

/// The cheapest strategy and number of threads (1 or `threads`); ties go to fewer blocks and
/// parts. No block's states exceed some hundred KiB.
RecurrenceChoice select_recurrence(const Machine& machine, const RecurrenceShape& shape,
                                   int threads);

}  // namespace dyn::choice
