#pragma once
// MikPoly's micro-kernels on a CPU (section 3.3).

#include <vector>

#include "src/choice/policies/mikpoly/ranking.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"

namespace dyn::choice {

/// Every micro-kernel of the grid, each with the register tile that computes it in the least time:
/// uM and uK are 16 * i; uN is, up to the same most, a multiple of 16 and of the machine's panel,
/// since the instruction set's tiles read whole panels. A, B and sums fit M_local, here L2.
std::vector<BlockKernel> mikpoly_grid(const Machine& machine,
                                      const MikPolyParameters& parameters = {});

/// The n_mik of the grid with the most mean throughput over products whose M, N and K are 2^j, by
/// pattern I; of equal ones the earlier. Throughput is predicted from the machine's figures (the
/// paper times each kernel, for hours). Each with the depths of the reduction at which it is to be
/// timed: of 1, 2, 3, 4, 6, ... instances up to n_pred, as long as a run is predicted to be
/// short and its operands are small; beyond, the last piece of g_predict goes on.
std::vector<BlockPlan> mikpoly_blocks(const Machine& machine,
                                      const MikPolyParameters& parameters = {});

}  // namespace dyn::choice
