#pragma once
// The targets that Options can name.

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "dyn/options.hpp"
#include "graph/passes/pipeline.hpp"
#include "src/base/dump.hpp"
#include "src/choice/gpu/layer_zero.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// Makes the target that Options ask for; `dump`: what it writes of its code.
using TargetFactory =
    std::function<std::shared_ptr<rkernel::Target>(const Options&, int threads, const Dump& dump)>;

/// Makes the targets of one graph's parts, structures and variants, all on one device: whoever
/// needs it first opens it. Thread-safe.
class GraphTargets {
 public:
  /// As make_target(). `options` name the same device and GPU in all calls.
  std::shared_ptr<rkernel::Target> make(const Options& options, int threads, const Dump& dump);
  /// nullptr: targets are the host's, or of a GPU that is only described. Throws what opening
  /// throws.
  std::shared_ptr<rkernel::Device> device(const Options& options);
  /// make() of new ones that all copies of the factory share.
  static TargetFactory factory();

  struct Gpu;

 private:
  std::shared_ptr<const Gpu> gpu(const Options& options);

  std::mutex mutex_;
  std::shared_ptr<const Gpu> gpu_;
};

/// The GPU that options name, and what its contractions multiply with, first what the precision is
/// for.
struct DescribedContractions {
  choice::GpuMachine machine;
  std::vector<choice::GpuKind> kinds;
};
/// Throws as make_target() does.
DescribedContractions described_contractions(const Options& options);

/// The target for Options::device, with the CPU for what a GPU has no kernel for. Throws
/// Error(user) for an unknown device, GPU or ISA, Error(unsupported) for one that this machine
/// lacks, Error(device) where the GPU's driver fails. `dump`: what is written of the CPU's code.
std::shared_ptr<rkernel::Target> make_target(const Options& options, int threads, const Dump& dump);

/// Throws Error(user) for an unknown Options::precision, or a GPU for a device that is none;
/// Error(unsupported) for a precision that the device does not compute in.
void check_device_options(const Options& options);

/// The same options, but with the reference for device "cpu" where the system refuses executable
/// memory by any mapping; a warning is logged then.
Options with_usable_device(Options options);

/// The passes ask a target for these.
graph::PipelineOptions pipeline_options(const rkernel::Target& target);

}  // namespace dyn::runtime
