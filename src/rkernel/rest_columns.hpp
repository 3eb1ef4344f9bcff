#pragma once
// Columns beyond the last whole vector of an output (Strategy::dot_rest): lanes along K compute them, none of which is unused.

#include <array>
#include <cstdint>

#include "src/rkernel/cost.hpp"

namespace dyn::rkernel {

/// Dot tiles side by side: all as wide, and of so many rows at most.
struct RestGroup {
  std::int64_t columns = 0, rows = 0;
};

/// How many columns Strategy::dot_rest is about; 0: there are none, no code for them, or no whole vector.
std::int64_t rest_columns(const Machine& machine, const ContractionShape& shape);

/// The groups of columns that dot tiles compute, as few and as equal as they can be, the wider one first; the second may have none.
std::array<RestGroup, 2> rest_groups(const Machine& machine, std::int64_t columns);

/// What the rest of a tile of `rows` rows takes.
struct RestCost {
  double seconds_per_k = 0;  ///< multiply-adds, loads of both sides, or the latency of a few sums
  double seconds = 0;        ///< for each block of K: calls, and adding up the lanes
};
RestCost rest_cost(const Machine& machine, std::int64_t columns, double rows);

/// To bring B's rest into rows that are contiguous along K, for each step of K.
double rest_move_seconds(const Machine& machine, const ContractionShape& shape, std::int64_t columns);

// Instructions that add up the lanes of one output, and store it.
inline constexpr double dot_reduction_operations = 7;

}  // namespace dyn::rkernel
