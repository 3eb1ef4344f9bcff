#pragma once
// The NVIDIA target: problems to PTX kernels, on a GPU, on the emulator, or on a described GPU that
// is only explained.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dyn/dtype.hpp"
#include "dyn/options.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/ptx/ir/ptx_device.hpp"

namespace dyn::ptx {

struct TargetOptions {
  /// nullptr: kernels can be planned, explained and listed, but not run.
  std::shared_ptr<PtxDevice> device;
  choice::GpuMachine machine;    ///< the device's, or the described one
  DType precision = DType::f32;  ///< what contractions compute with: f32, f16 or bf16
  bool allow_tf32 = false;
  rkernel::Policy policy =
      rkernel::Policy::Dyn;  ///< who chooses for contractions; Vendor and Oracle: as Dyn
  int threads = 1;           ///< to compile with
  std::function<void(LogLevel, std::string_view)> log;
};

/// name(): "cuda/NAME" or "emulator/NAME" by the device; a described GPU is "cuda/NAME".
std::unique_ptr<rkernel::Target> make_ptx_target(const TargetOptions& options);

}  // namespace dyn::ptx
