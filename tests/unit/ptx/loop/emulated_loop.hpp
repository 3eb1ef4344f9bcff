#pragma once
// Runs loop kernels on the emulator, and compares them with the interpreter.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/emulator/counters/kernel_counters.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "tests/support/problems/problem_builder.hpp"

namespace dyn::test {

/// A GPU like an A100, with so many multiprocessors: many make few long rows worth all warps of a
/// block.
choice::GpuMachine test_gpu(int multiprocessors);

using Contents = std::vector<std::vector<std::uint8_t>>;  ///< bytes of each operand's buffer

struct EmulatedLoop {
  Contents outputs;
  std::int32_t status = 0;
  rkernel::Launch launch;
  std::string reports;  ///< of the emulator, one a line
};

/// In as many blocks as planned, at most `most_blocks`.
EmulatedLoop run_emulated(const testing::ProblemBuilder& builder, const choice::GpuMachine& machine,
                          const Contents& initial, std::int64_t most_blocks = 1 << 30);

/// Counts the kernel's launch on random contents, as planned.
ptx::KernelCounters counters_of(const testing::ProblemBuilder& builder,
                                const choice::GpuMachine& machine);

/// Random contents (buffers in `given` are taken from there), run as planned, and by two blocks
/// that take all tickets. The emulator must report nothing, both runs must give the same bits, and
/// these must agree with the interpreter. Returns the launch.
rkernel::Launch check_emulated(const testing::ProblemBuilder& builder,
                               const choice::GpuMachine& machine, unsigned seed, double tolerance,
                               bool specials = false,
                               const std::map<int, std::vector<std::uint8_t>>& given = {});

}  // namespace dyn::test
