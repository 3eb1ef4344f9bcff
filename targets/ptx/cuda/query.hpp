#pragma once
// Asks a driver about its GPUs.

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/cuda/context.hpp"

namespace dyn::ptx::cuda {

/// The oldest GPU that runs dyn's PTX, 10 * major + minor.
inline constexpr int least_compute_capability = 80;

int device_count(const Driver& driver);
DeviceId device_at(const Driver& driver, int index);
/// The driver's numbers; numbers that it does not tell (throughputs, latencies) come from the
/// nearest described GPU.
choice::GpuMachine query_machine(const Driver& driver, DeviceId device);

/// cuMemAllocAsync works there.
bool has_pools(const Driver& driver, DeviceId device);
/// As rkernel::Device::bytes_from.
std::size_t bytes_from(const Context& context, DevicePointer address);

}  // namespace dyn::ptx::cuda
