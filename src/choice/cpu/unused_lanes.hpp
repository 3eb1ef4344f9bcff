#pragma once
// Lanes of multiply-adds that work for nothing.

#include "src/choice/cost/cost.hpp"
#include "src/choice/gpu/gpu.hpp"

namespace dyn::choice {

/// Of all lanes of a program's multiply-adds, the shares whose products belong to no output or to no term of its sum, by the axis along which they are too many:
/// masked, padded or past the end. (1 - m) * (1 - n) * (1 - k) of all lanes work.
struct UnusedLanes {
  double m = 0, n = 0, k = 0;
  double all() const { return 1 - (1 - m) * (1 - n) * (1 - k); }
};

/// On a CPU: rows are never padded; the last panel of the output takes one vector where so few columns are left, else all of its vectors. Blocks of K
/// are multiples of a vector. Axes are the problem's
/// own, also where lanes run along M and the shape has its sides exchanged.
UnusedLanes unused_lanes(const Machine& machine, const ContractionShape& shape, const rkernel::Program& program);

/// On a GPU: blocks are whole, and what lies outside of the output is masked when it is read and written.
UnusedLanes unused_lanes(const GpuContraction& shape, const GpuTile& tile);

}  // namespace dyn::choice
