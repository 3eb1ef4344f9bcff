#pragma once
// TSCompiler's macro-kernels on a CPU.

#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"

namespace dyn::choice {

/// The pool that the wave model chooses from, each to be timed while every thread has one (T_s):
/// what a tuner found for this machine, or, without any, aligned tiles (block_kernels()), which the
/// paper's tuner starts from.
std::vector<BlockPlan> macro_kernels(const Machine& machine,
                                     const std::vector<BlockKernel>& tuned = {});

}  // namespace dyn::choice
