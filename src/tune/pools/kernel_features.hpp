#pragma once
// The features of a micro-kernel that DietCode's learned model sees.

#include <vector>

#include "src/choice/policies/shared/block_kernel.hpp"

namespace dyn::tune {

/// FeatureExtractor(M) of DietCode's equation 2: the loops of a micro-kernel, from its main loop
/// out, and the memory that each touches, as logarithms and shares. Always as many. No shape that
/// the kernel is for is among them.
std::vector<float> kernel_features(const choice::Machine& machine,
                                   const choice::BlockKernel& kernel);

}  // namespace dyn::tune
