#pragma once
// The code of a loop kernel, written while rkernel::walk goes through its tree.

#include <string>

#include "targets/cpu/loop/class.hpp"

namespace llvm {
class Module;
}

namespace dyn::cpu {

/// Writes a KernelFunction named `symbol`. A ticket is one point of the parallel axes, the last in
/// order fastest, without the lane axis if that is reduced, else with a chunk of it; where
/// reductions are cut in slices, of one slice, these slowest.
void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class);
/// The second stage, where `problem.sliced`: a ticket is one point of the parallel axes as above,
/// whose slices it merges.
void emit_loop_merge(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                     const LoopClass& loop_class);

}  // namespace dyn::cpu
