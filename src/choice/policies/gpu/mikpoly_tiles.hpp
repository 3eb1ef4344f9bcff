#pragma once
// MikPoly's micro-kernels on a GPU (section 3.3).

#include <vector>

#include "src/choice/gpu/layer_zero.hpp"
#include "src/choice/policies/mikpoly/ranking.hpp"
#include "src/choice/policies/shared/piecewise_linear.hpp"

namespace dyn::choice {

/// Every micro-kernel of the grid: uM, uN and uK are 16 * i (uK also a multiple of the
/// instruction's depth), and two stages fit M_local, here a block's shared memory. Each with the
/// warps and stages that take the least time on a full GPU; those that registers do not hold in any
/// way are left out.
std::vector<GpuTile> mikpoly_tile_grid(const GpuMachine& machine, const GpuKind& kind,
                                       const MikPolyParameters& parameters = {});

/// The n_mik of the grid with the most mean throughput, predicted from the GPU's numbers (the paper
/// times each kernel, for hours).
std::vector<GpuTile> mikpoly_tiles(const GpuMachine& machine, const GpuKind& kind,
                                   const MikPolyParameters& parameters = {});

/// g_predict of each kernel, in seconds of a task with so many elements of the reduction: learned
/// from tasks of 1, 2, 3, 4, 6, ... n_pred instances, whose seconds `kernels` has from the model of
/// one wave, or from stages that were timed.
std::vector<PiecewiseLinear> learned_tasks(const MicroKernels& kernels, std::int64_t n_pred);

}  // namespace dyn::choice
