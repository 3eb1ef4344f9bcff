#pragma once
// Matrix products executed by the emulator, as a stream executes them.

#include <llvm/IR/Module.h>

#include <memory>

#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "tests/unit/ptx/contraction/matmul_data.hpp"

namespace dyn::ptx::testing {

/// An emulated A100; made once per process.
Emulator& emulator();

/// The kernel of one form, loaded.
class EmulatedMatmul {
 public:
  EmulatedMatmul(Emulator& device, const MatmulCase& form);
  /// Loads a kernel that differs from the one that the emitter makes.
  EmulatedMatmul(Emulator& device, const llvm::Module& module);

  /// Runs it on these buffers; returns the output's bytes. Throws what the stream throws.
  Bytes run(const MatmulCase& c, const std::vector<Bytes>& buffers) const;

 private:
  void load(const llvm::Module& module);

  Emulator& device_;
  const void* function_ = nullptr;
  KernelShape shape_;
};

}  // namespace dyn::ptx::testing
