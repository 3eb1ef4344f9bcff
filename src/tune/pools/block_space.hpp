#pragma once
// The blocks of a CPU as a discrete space.

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/tune/space.hpp"

namespace dyn::tune {

/// Register tile, whole tiles along M and N, and how deep sums run at a time (0: over all of K); no
/// shape constrains it. TSCompiler, section 5.1:
///   allowed: the instruction set has the tile, of whole panels (the registers' limit);
///   fits: sums, and where K is cut the block's A and B, are no more than L2 holds;
///   preferred: a tile that is nearly as fast as any, and a block that leaves a quarter of L2 free.
/// Seeds: these blocks, as far as the space has them. `machine` must outlive it.
Space block_space(const choice::Machine& machine, const std::vector<choice::BlockKernel>& seeds);

/// Blocks of aligned tiles (block_kernels()), in turn over all of K, as deep as L2 holds them with
/// a quarter to spare, and as deep as half of L1 holds a tile's A and B.
std::vector<choice::BlockKernel> aligned_blocks(const choice::Machine& machine);

/// The block of a point of the space.
choice::BlockKernel block_at(const Values& values);

}  // namespace dyn::tune
