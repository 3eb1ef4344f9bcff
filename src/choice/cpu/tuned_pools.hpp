#pragma once
// Micro-kernels of papers' policies on a CPU that a tuner found.

#include <vector>

#include "src/choice/cost/machine.hpp"
#include "src/choice/policies/shared/block_kernel.hpp"
#include "src/choice/policies/shared/micro_kernels.hpp"
#include "src/rkernel/target/tuning.hpp"

namespace dyn::choice {

struct TunedKernels {
  BlockOperands operands;             ///< with which they were timed
  std::vector<BlockSpeed> kernels;    ///< with what the tuner measured of them
  std::vector<ProductShape> sampled;  ///< the shapes that it searched for
};

/// A policy's on as many threads as the machine has, for each kind of operands; empty where the
/// tuning has none. Throws Error(user) that names the file, where there is no code for a kernel or
/// its text is broken.
std::vector<TunedKernels> tuned_kernels(const Machine& machine, const rkernel::Tuning& tuning,
                                        rkernel::Policy policy);

}  // namespace dyn::choice
