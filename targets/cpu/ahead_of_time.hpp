#pragma once
// What every CPU of an ISA runs alike, whatever the model.

#include <vector>

#include "src/rkernel/problem/factors.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::cpu {

/// How weights may be kept: in every dtype that the ISA widens, and in codes of the usual group.
std::vector<rkernel::Factors> usual_weights(const codegen::Isa& isa);

/// The main loops of all tiles and usual weights, the moves of strided matrices and of usual
/// windows, and the loop that measures bandwidths.
std::vector<codegen::KernelSource> ahead_of_time_sources(const codegen::Isa& isa);

}  // namespace dyn::cpu
