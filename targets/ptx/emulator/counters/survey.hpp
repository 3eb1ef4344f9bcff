#pragma once
// A device module tells this about its counters before it runs.

#include <vector>

#include "targets/ptx/emulator/counters/kernel_counters.hpp"

namespace llvm {
class Function;
class Instruction;
class Type;
}  // namespace llvm

namespace dyn::ptx {
struct DeviceOp;
}

namespace dyn::ptx::emulation {

/// A basic block of the device IR.
struct CodeBlock {
  InstructionCounts instructions;  ///< of one execution by a warp
  bool main_loop = false;          ///< in the innermost loop that multiplies and waits for copies
  bool innermost = false;          ///< in a loop that contains no other
};

/// The device operation that an instruction calls; nullptr: it calls none.
const DeviceOp* device_op_of(const llvm::Instruction& instruction);

/// 32-bit words of a value in registers; none of a predicate.
int words_of(const llvm::Type* type);

/// One entry for each basic block, in order.
std::vector<CodeBlock> survey_blocks(const llvm::Function& kernel);

/// The most 32-bit words that values of one thread take at one place of the code, each value from
/// where it is computed to its last use. An assembler needs as many registers at least, unless it
/// computes values again.
int live_words(const llvm::Function& kernel);

}  // namespace dyn::ptx::emulation
