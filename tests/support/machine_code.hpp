#pragma once
// The machine code that NVIDIA's assembler makes of PTX, as its disassembler lists it, where both
// are installed.

#include <map>
#include <string>

namespace dyn::test {

/// Prints "skipped ptx.nvdisasm: nvdisasm or ptxas is not installed" where that is so. Tests then
/// return. nvdisasm: $DYN_NVDISASM, else from PATH, else from /usr/local/cuda/bin.
bool nvdisasm_is_missing();

/// Instructions of a part of a kernel, by mnemonic without modifiers ("HMMA").
struct InstructionTally {
  std::map<std::string, int> by_mnemonic;

  int all() const;
  int operator[](const std::string& mnemonic) const;
};

/// A kernel's code.
struct MachineCode {
  InstructionTally whole;
  InstructionTally main_loop;  ///< the innermost loop that has most of `multiplication`
  int registers = 0, spill_bytes = 0;
};

/// Instructions of the straight code of PTX with one kernel. Throws as machine_code() does.
InstructionTally straight_code(const std::string& ptx, const std::string& gpu);

/// Assembles PTX with one kernel for a GPU such as "sm_80" and reads its code. Loops are what
/// branches go back over. Throws std::runtime_error with the tools' messages where they fail, or
/// where no loop multiplies.
MachineCode machine_code(const std::string& ptx, const std::string& gpu,
                         const std::string& multiplication);

}  // namespace dyn::test
