#pragma once
// NVIDIA's assembler, where it is installed: the judge of generated PTX.

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dyn::test {

/// GPUs that every kernel must assemble for.
std::span<const char* const> ptxas_gpus();

/// Path of one of NVIDIA's tools: from PATH, else from /usr/local/cuda/bin; "" where there is none.
std::string find_tool(const std::string& name);
/// Path of ptxas: from PATH, else from /usr/local/cuda/bin; "" where there is none.
const std::string& ptxas_path();

/// Prints "skipped ptx.ptxas: ptxas is not installed" where that is so. Tests then return.
bool ptxas_is_missing();

/// ptxas's report of one kernel.
struct Assembled {
  bool ok = false;
  std::string log;       ///< all that ptxas printed
  int registers = -1;    ///< of one thread; -1: ptxas did not say
  int spill_bytes = -1;  ///< stores and loads together
  int stack_bytes = -1;
  int shared_bytes = 0;  ///< static: dynamic shared memory does not count
};

/// Assembles PTX with one kernel for a GPU such as "sm_80". Needs ptxas. `extra`: more arguments.
/// `use` gets the path of the code, where there is some; it lies there no longer than the call.
Assembled assemble(const std::string& ptx, const std::string& gpu,
                   const std::vector<std::string>& extra = {},
                   const std::function<void(const std::string&)>& use = {});

/// The most registers that the assembler gives a kernel on any of these GPUs; those of each are
/// appended to `all`. Checks that it takes the kernel, and spills no more than so many bytes, loads
/// and stores together; `what` names it.
int checked_registers(const std::string& ptx, const std::string& what,
                      std::span<const char* const> gpus, std::string& all, int most_spilled = 0);

}  // namespace dyn::test
