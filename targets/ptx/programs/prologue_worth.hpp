#pragma once
// Whether a product should compute its factor where it loads tiles, by the cost model.

#include <vector>

#include "graph/fusion/group.hpp"
#include "src/choice/gpu/gpu.hpp"

namespace dyn::ptx {

/// True where the best of `tiles` that computes the factor is predicted to be faster than the best
/// one that copies it, and a kernel that writes it before. Sizes are the hints of the dims; those
/// without one are tried small, middling and large. `precision`: of what lies between kernels.
bool prologue_is_worth(const choice::GpuMachine& machine, const std::vector<choice::GpuTile>& tiles,
                       DType precision, const graph::PrologueWork& work);

}  // namespace dyn::ptx
