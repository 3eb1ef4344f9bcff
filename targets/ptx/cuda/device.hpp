#pragma once
// NVIDIA GPUs through their driver.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/gpu.hpp"
#include "targets/ptx/cuda/driver.hpp"
#include "targets/ptx/ir/ptx_device.hpp"

namespace dyn::ptx {

/// The GPU with this index ("0", "1", ...; "": the first). All who hold it with the same
/// `cache_dir` (of its code on disk; empty: nothing is kept) share one device, and its code. Throws
/// Error(device) where there is no driver or no GPU, Error(unsupported) where one of them is too
/// old, Error(user) where the index is wrong.
std::shared_ptr<PtxDevice> open_cuda_device(const std::string& gpu, const std::string& cache_dir);
/// The same through a driver of the caller's choice.
std::shared_ptr<PtxDevice> open_cuda_device(const std::string& gpu, const std::string& cache_dir,
                                            std::shared_ptr<const cuda::Driver> driver);

/// All GPUs of this machine, in the driver's order, those included that are too old for dyn. Where
/// there are none, `why_none` says why.
std::vector<choice::GpuMachine> cuda_devices(std::string* why_none);
std::vector<choice::GpuMachine> cuda_devices(const cuda::Driver& driver);

}  // namespace dyn::ptx
