#pragma once
// What every CPU of an ISA runs alike, whatever the model.

#include <vector>

#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::cpu {

/// The main loops of all tiles and dtypes of weights, the moves of strided matrices and of usual
/// windows, and the loop that measures bandwidths.
std::vector<codegen::KernelSource> ahead_of_time_sources(const codegen::Isa& isa);

}  // namespace dyn::cpu
