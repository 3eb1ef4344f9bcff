#pragma once
// A generated loop that reads memory as fast as the ISA can: the measure of bandwidth.

#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {

/// Reads `bytes` (a multiple of 1024) from `data`, `passes` times; the result depends on all of
/// them.
using ReadLoop = std::int64_t (*)(const void* data, std::int64_t bytes, std::int64_t passes);

codegen::KernelSource read_loop_source(const codegen::Isa& isa);

}  // namespace dyn::cpu
