#pragma once
// A device that runs device IR: a GPU through the driver, or the emulator.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "src/rkernel/target/device.hpp"
#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::ptx {

class PtxDevice : public rkernel::Device {
 public:
  virtual const choice::GpuMachine& machine() const = 0;
  /// Lowers and loads each source, once for each key and process; the handles are those of
  /// DeviceLaunch::function, in the order of `sources`, valid while the device lives. Compiles on
  /// `threads` threads. Thread-safe.
  virtual std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                        rkernel::CompileReport& report) = 0;
  /// Seconds of one launch by the device's own clock, when it is over; nothing where it has none.
  /// Throws Error(device) as Stream::launch() and synchronise() do.
  virtual std::optional<double> launch_seconds(const rkernel::DeviceLaunch&) { return {}; }
  /// Name and driver: figures that were timed on one such device hold for another.
  virtual std::string identity() const { return name(); }
};

}  // namespace dyn::ptx
