#pragma once
// The NVIDIA target compiles problems to PTX kernels, for a GPU, for the emulator, or for a
// described GPU that is only explained.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dyn/dtype.hpp"
#include "dyn/options.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/rkernel/target/tuning.hpp"
#include "targets/ptx/ir/ptx_device.hpp"

namespace dyn::ptx {

struct TargetOptions {
  /// nullptr: kernels can be planned, explained and listed, but not run.
  std::shared_ptr<PtxDevice> device;
  choice::GpuMachine machine;    ///< the device's, or the described one
  DType precision = DType::f32;  ///< dtype that contractions compute with: f32, f16 or bf16
  bool allow_tf32 = false;
  rkernel::Policy policy =
      rkernel::Policy::Dyn;  ///< chooses for contractions; Vendor and Oracle choose as Dyn
  /// Programs that policy Dyn takes, and tiles of TSCompiler and DietCode; nullptr: none.
  std::shared_ptr<const rkernel::Tuning> tuning;
  int threads = 1;  ///< threads to compile with
  /// Layers 0 and 1 of the tiles are timed on the device, which has a clock, before the first
  /// contraction is compiled; the directory keeps the figures ("": nothing is kept).
  bool measures = false;
  std::string cache_dir;
  std::function<void(LogLevel, std::string_view)> log;
};

/// Throws Error(user) for a tuning for another machine.
/// name(): "cuda/NAME" or "emulator/NAME" according to the device; a described GPU is "cuda/NAME".
std::unique_ptr<rkernel::Target> make_ptx_target(const TargetOptions& options);

}  // namespace dyn::ptx
