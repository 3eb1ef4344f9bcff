#pragma once
// Columns beyond the last whole vector of an output (Strategy::dot_rest): lanes along K compute
// them, none of which is unused.

#include <array>
#include <cstdint>

#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// Dot tiles side by side: all as wide, and of so many rows at most.
struct RestGroup {
  std::int64_t columns = 0, rows = 0;
};

/// How many of `columns` lie beyond the last whole vector; 0: none, there is no whole vector, or
/// vectors leave less than Calibration::worthwhile_rest_share of their lanes unused.
std::int64_t rest_columns(int vector_width, std::int64_t columns);

/// The same where code exists for them: how many columns Strategy::dot_rest is about.
std::int64_t rest_columns(const Machine& machine, const ContractionShape& shape);

/// How many columns of a constant f32 right side are packed as rows at load
/// (ContractionShape::rest_as_rows): all of the above where dots take less time than a vector for
/// most numbers of rows. The widths and the depth alone say it, so a row of a batch has the bits of
/// that row alone.
std::int64_t packed_rest(int vector_width, std::int64_t panel, std::int64_t columns,
                         std::int64_t depth);

/// Whether dots compute the columns beyond the last whole vector.
inline bool has_dots(const ContractionShape& shape, const rkernel::Strategy& strategy) {
  return strategy.dot_rest || shape.rest_as_rows;
}

/// The groups of columns that dot tiles compute, as few and as equal as they can be, the wider one
/// first; the second may have none.
std::array<RestGroup, 2> rest_groups(const Machine& machine, std::int64_t columns);

/// How much longer the last column tile takes with dots over `block_k` steps of K than without, the
/// mean of a block's row tiles; below 0 where it is faster.
double rest_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Tiling& rows, double block_k);

/// To bring B's rest into rows that are contiguous along K, for each step of K.
double rest_move_seconds(const Machine& machine, const ContractionShape& shape);

}  // namespace dyn::choice
