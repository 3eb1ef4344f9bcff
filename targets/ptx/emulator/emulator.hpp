#pragma once
// Lowering B: device IR executed on the host, by the rules of a GPU, with every rule checked.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/ptx_device.hpp"

namespace llvm {
class Module;
}

namespace dyn::ptx {

/// What a kernel did that a GPU would not forgive.
enum class Fault : unsigned char {
  OutOfBounds,       ///< an access outside the operands' buffers or shared memory, or a write to an operand that is read
  Misaligned,
  Uninitialised,     ///< shared memory or a register that nobody has written
  BeforeWait,        ///< shared memory that an asynchronous copy is still on its way to
  Race,              ///< two threads, at least one write, no barrier in between
  Divergence,        ///< a warp-collective operation that lanes of its mask do not reach together
  Deadlock,          ///< every thread waits
  Barrier,           ///< a barrier used against its rules: mbarrier not initialised, too many arrivals, a wrong count
  Unfinished,        ///< asynchronous copies that the kernel did not wait for
  BadLaunch          ///< more threads or shared memory than the machine has, or other than the kernel was made for
};
const char* name_of(Fault fault) noexcept;

struct FaultReport {
  Fault fault = Fault::OutOfBounds;
  std::string kernel;       ///< its group's name
  std::int64_t block = 0;
  int thread = 0;
  std::string instruction;  ///< the device IR's line
  std::string text;         ///< what happened, with addresses, sizes, and the other thread where there is one
};
std::string to_string(const FaultReport& report);

/// What one launch did, counted: coverage for tests and `explain`.
struct EmulatorCounts {
  std::int64_t launches = 0, blocks = 0, barriers = 0, async_copies = 0, mmas = 0, loads = 0, stores = 0;
};

struct EmulatorOptions {
  choice::GpuMachine machine;
  std::size_t memory_bytes = std::size_t{4} << 30;  ///< more than that cannot be allocated
  std::string cache_dir;                            ///< of host code; "" keeps nothing on disk
};

class Emulator : public PtxDevice {
 public:
  /// Loads a module that is not (or no longer) what a source makes: what tests edit.
  virtual const void* load_module(const llvm::Module& device_module) = 0;
  /// module_hash() of the device module that a handle was lowered from.
  virtual std::string module_hash_of(const void* function) const = 0;
  /// All reports since the last call (the first 100); afterwards there are none. A launch with a fault also makes its stream's next
  /// synchronise() throw Error(device) with the first report's text.
  virtual std::vector<FaultReport> take_reports() = 0;
  virtual EmulatorCounts counts() const = 0;
};

std::shared_ptr<Emulator> make_emulator(const EmulatorOptions& options);

}  // namespace dyn::ptx
