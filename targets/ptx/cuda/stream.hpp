#pragma once
// A stream of a GPU.

#include <memory>

#include "src/rkernel/target/device.hpp"
#include "targets/ptx/cuda/context.hpp"

namespace dyn::ptx::cuda {

/// Handle of a loaded kernel; DeviceLaunch::function points to it.
struct LoadedKernel {
  FunctionHandle function = nullptr;
  ModuleHandle module = nullptr;
};

/// A stream that does not wait for the process's default stream.
std::unique_ptr<rkernel::Stream> make_stream(std::shared_ptr<const Context> context);
/// Seconds of one launch, between two events of a stream of its own.
double launch_seconds(std::shared_ptr<const Context> context, const rkernel::DeviceLaunch& launch);
/// Another library's, of the primary context. Throws what Stream::begin() throws.
std::unique_ptr<rkernel::Stream> use_stream(std::shared_ptr<const Context> context,
                                            StreamHandle handle);

}  // namespace dyn::ptx::cuda
