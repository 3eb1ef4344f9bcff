#pragma once
// Small kernels as text, run on the emulator.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/device/kernel_text.hpp"
#include "tests/support/emulated.hpp"

namespace dyn::test {

/// The statement in such a body with which all threads of a block wait for each other.
inline const std::string barrier = "call void @dyn.dev.barrier.sync()";

/// Loads and launches with an emulator that all tests share.
Emulated& shared_emulator();
const void* load(const KernelText& kernel);
std::vector<ptx::FaultReport> run(const KernelText& kernel, std::span<const EmulatedBuffer> buffers,
                                  std::int64_t blocks = 1, std::span<const std::int64_t> ints = {});
inline std::vector<ptx::FaultReport> run(const KernelText& kernel,
                                         std::initializer_list<EmulatedBuffer> buffers,
                                         std::int64_t blocks = 1,
                                         std::span<const std::int64_t> ints = {}) {
  return run(kernel, std::span<const EmulatedBuffer>(buffers.begin(), buffers.size()), blocks,
             ints);
}

/// Checks that the kernel has this fault, naming `instruction`; returns the reports' text for
/// messages.
void check_fault(const KernelText& kernel, ptx::Fault fault, const std::string& instruction,
                 std::initializer_list<EmulatedBuffer> buffers, std::int64_t blocks = 1);
void check_clean(const KernelText& kernel, std::initializer_list<EmulatedBuffer> buffers,
                 std::int64_t blocks = 1);

/// 0.5, 1.5, 2.5, ...
std::vector<float> ramp(std::size_t count);

}  // namespace dyn::test
