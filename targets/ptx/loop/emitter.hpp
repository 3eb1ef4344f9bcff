#pragma once
// The device code of loop kernels, written while rkernel::walk goes through their trees.

#include <string>
#include <vector>

#include "targets/ptx/loop/class.hpp"

namespace llvm {
class Module;
}

namespace dyn::ptx {

/// A problem, and the class in which a kernel computes it.
struct LoopPart {
  const LoopProblem& problem;
  const LoopClass& shape_class;
};

/// Writes the kernel `symbol`. A ticket is as many points of the parallel axes as the block has
/// rows of threads, the lane axis fastest where it is one of them.
///
/// Of several parts each has its own blocks (horizontal fusion). Their operands follow one another.
/// The launch's ints are, for each part, the number of its first block; the number of all blocks;
/// and the ints of each part.
void emit_loop_kernel(llvm::Module& module, const std::string& symbol,
                      const std::vector<LoopPart>& parts);

/// Bytes of shared memory of a block.
int loop_shared_bytes(const LoopProblem& problem, const LoopClass& loop_class);

}  // namespace dyn::ptx
