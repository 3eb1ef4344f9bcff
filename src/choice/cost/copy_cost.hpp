#pragma once
// What it costs to move a block of an operand into scratch.

#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/cost.hpp"

namespace dyn::choice {

/// What one of `active` threads takes to move a block of an operand into its scratch as f32:
/// `elements` of `dtype` read from `level`, or L2 where that is nearer, and written; `packs`: into
/// panels, by turns of columns in registers.
double block_move_seconds(const Machine& machine, double elements, DType dtype, std::size_t level,
                          bool packs, int active);

/// The time to compute so many elements of a factor, at vector instructions for one vector of
/// them (ContractionShape::a_operations, b_operations).
double computing_seconds(const Machine& machine, double elements, float operations);

/// Whether a block of so many rows and all of K reads A's windows in a strip
/// (ContractionShape::a_strips): it has full tiles, and the strip stays in half of L2.
bool reads_strip(const Machine& machine, const ContractionShape& shape,
                 const rkernel::Strategy& strategy, std::int64_t rows);

/// The same as block_move_seconds() of A's rows that are windows (ContractionShape::a_slides): what
/// is read for the first time comes from where A is, the block goes to where all of it fits, and
/// each run costs something, and so does computing elements; of a block that reads them in a strip,
/// this once, and windows of the rows that no full tile has. `any_depth`: no more than that of
/// blocks which are not as deep, in proportion.
double window_copy_seconds(const Machine& machine, const ContractionShape& shape,
                           const rkernel::Strategy& strategy, const BlockSizes& sizes, int active,
                           bool any_depth);

}  // namespace dyn::choice
