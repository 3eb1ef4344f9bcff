#pragma once
// The fixed micro-kernels of a CPU that the papers' policies combine.

#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"

namespace dyn::choice {

/// At most 40 (MikPoly's n_mik, section 3.3) of all blocks that the machine's tiles make: one after
/// the other the block is kept that most improves the mean, over synthetic sizes, of the best
/// throughput relative to that of all blocks together, until that gains nothing. (MikPoly ranks
/// blocks one by one by their mean over powers of two, which leaves nothing for few rows and for
/// rows between.) Made from the machine's figures alone; in a fixed order.
std::vector<BlockKernel> block_kernels(const Machine& machine);

}  // namespace dyn::choice
