#pragma once
// Lowering B: a device module as host code.

#include <memory>
#include <string>

#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/emulator/multiprocessor/emulated_kernel.hpp"

namespace llvm {
class Module;
}

namespace dyn::ptx::emulation {

struct HostCode {
  EmulatedKernel kernel;         ///< without an entry
  codegen::KernelSource source;  ///< for the CPU's code store; a function void(ThreadContext*)
};

/// Consumes a verified device module. Every access to global and shared memory is preceded by its
/// check. Every device operation is a call of the runtime, which LLVM assumes to read and write all
/// memory, so that nothing moves across it. Undefined values become a NaN that is easy to
/// recognise. Each block of code counts its executions.
HostCode lower_to_host(std::unique_ptr<llvm::Module> device_module);

}  // namespace dyn::ptx::emulation
