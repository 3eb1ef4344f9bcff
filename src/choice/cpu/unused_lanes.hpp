#pragma once
// Lanes of multiply-adds on a CPU that work for nothing.

#include "src/choice/cost/cost.hpp"
#include "src/rkernel/target/unused_lanes.hpp"

namespace dyn::choice {

/// Rows are never padded; the last panel of the output takes one vector where so few columns are
/// left, else all of its vectors. Blocks of K are multiples of a vector. Axes are the problem's
/// own, also where lanes run along M and the shape has its sides exchanged.
rkernel::UnusedLanes unused_lanes(const Machine& machine, const ContractionShape& shape,
                                  const rkernel::Program& program);

}  // namespace dyn::choice
