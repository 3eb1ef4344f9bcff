#pragma once
// Vortex's candidates on a GPU, bottom-up (section 5.1, Algorithm 2).

#include <vector>

#include "src/choice/gpu/layer_zero.hpp"

namespace dyn::choice {

/// Every strategy of layer 1 with each of layer 0 that it stands on. Layer 0 (FilterByISA):
/// warps_by_isa() of each kind. Layer 1 (FilterByMultiples): multiples of a warp by 2^i or 3 * 2^i
/// along M and N, of at most 1024 threads, and of depth_granule() along K, whose two stages fill
/// between a 64th and three quarters of a multiprocessor's shared memory, and which its registers
/// hold. Each with the stages that take the least time.
std::vector<RatedTile> all_vortex_tiles(const GpuMachine& machine,
                                        const std::vector<GpuKind>& kinds);

/// Equation 1 at layer 1, which no shape changes: of each block of an engine the warp whose full
/// GPU takes the least time, of equal ones the first.
std::vector<GpuTile> best_vortex_tiles(const std::vector<RatedTile>& all);

}  // namespace dyn::choice
