#pragma once
// The targets that Options can name.

#include <functional>
#include <memory>

#include "dyn/options.hpp"
#include "graph/passes/pipeline.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// Makes the target that Options ask for; `dump`: what it writes of its code.
using TargetFactory =
    std::function<std::shared_ptr<rkernel::Target>(const Options&, int threads, const Dump& dump)>;

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
