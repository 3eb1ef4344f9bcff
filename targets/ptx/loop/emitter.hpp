#pragma once
// The device code of a loop kernel, written while rkernel::walk goes through its tree.

#include <string>

#include "targets/ptx/loop/class.hpp"

namespace llvm {
class Module;
}

namespace dyn::ptx {

/// Writes the kernel `symbol`. A ticket is as many points of the parallel axes as the block has
/// rows of threads, the lane axis fastest where it is one of them.
void emit_loop_kernel(llvm::Module& module, const std::string& symbol, const LoopProblem& problem,
                      const LoopClass& loop_class);

}  // namespace dyn::ptx
