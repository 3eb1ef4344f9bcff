#pragma once
// TSCompiler's macro-kernels on a CPU.

#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"

namespace dyn::choice {

/// The pool that the wave model chooses from where no tuner found one: aligned tiles
/// (block_kernels()), which the paper's tuner starts from, each to be timed while every thread has
/// one (T_s).
std::vector<BlockPlan> macro_kernels(const Machine& machine);

/// Section 6: T_s * ceil(blocks / blocks per wave). A wave that is not full costs as much.
double wave_model_seconds(const ProductShape& shape, const MicroKernel& kernel,
                          std::int64_t blocks_per_wave, double wave_seconds);

}  // namespace dyn::choice
