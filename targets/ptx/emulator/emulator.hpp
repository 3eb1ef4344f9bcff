#pragma once
// Lowering B: executes device IR on the host, by the rules of a GPU, and checks every rule.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/emulator/counters/kernel_counters.hpp"
#include "targets/ptx/emulator/memory/report.hpp"
#include "targets/ptx/emulator/multiprocessor/block_order.hpp"
#include "targets/ptx/ir/ptx_device.hpp"

namespace llvm {
class Module;
}

namespace dyn::ptx {

struct EmulatorOptions {
  choice::GpuMachine machine;
  std::size_t memory_bytes = std::size_t{4} << 30;  ///< no more than that can be allocated
  std::string cache_dir;  ///< directory for host code; "" keeps nothing on disk
};

class Emulator : public PtxDevice {
 public:
  /// Loads a module that no source makes (any more), such as one that a test edited.
  virtual const void* load_module(const llvm::Module& device_module) = 0;
  /// module_hash() of the device module that a handle was lowered from.
  virtual std::string module_hash_of(const void* function) const = 0;
  /// All reports since the last call (the first 100); afterwards there are none. A launch with a
  /// fault also makes its stream's next synchronise() throw Error(device) with the first report's
  /// text.
  virtual std::vector<FaultReport> take_reports() = 0;
  virtual EmulatorCounts counts() const = 0;
  /// Counters of all launches since the last call that were counted, in their order. Launches are
  /// counted from set_counting(true) on, and take several times as long then.
  virtual std::vector<KernelCounters> take_counters() = 0;
  virtual void set_counting(bool counting) = 0;
  /// Blocks of all launches from now on begin in this order; at first in ascending order.
  virtual void set_block_order(const BlockOrder& order) = 0;
};

std::shared_ptr<Emulator> make_emulator(const EmulatorOptions& options);

}  // namespace dyn::ptx
