// dyn's declarations of the driver API against NVIDIA's header, where a toolkit is installed.
// Nothing else of dyn includes that header, whose macros give the functions other names: so the
// folder, which is compiled as one, holds nothing else.

#include <doctest/doctest.h>

#include <cstdio>
#include <type_traits>

#include "targets/ptx/cuda/driver.hpp"

#if __has_include(<cudaTypedefs.h>)
#include <cudaTypedefs.h>
#elif __has_include("/usr/local/cuda/include/cudaTypedefs.h")
#include "/usr/local/cuda/include/cuda.h"
// The header above finds this one by its name in <>.
#include "/usr/local/cuda/include/cudaTypedefs.h"
#endif

TEST_CASE("cuda header: values and signatures are NVIDIA's") {
#ifdef CUDA_VERSION
  CHECK(CUDA_VERSION >= dyn::ptx::cuda::driver_api_version);
#else
  std::puts("skipped cuda.header: no CUDA toolkit on this machine");
#endif
}

#ifdef CUDA_VERSION
namespace dyn::ptx::cuda {
namespace {

// Same bits: pointers to the same, enumerations and integers of one size; the types behind handles
// do not matter.
template <typename A, typename B>
constexpr bool same_abi() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_pointer_t<A>;
    using Other = std::remove_pointer_t<B>;
    if constexpr (std::is_class_v<To> && std::is_class_v<Other>) {
      return true;
    } else {
      return std::is_const_v<To> == std::is_const_v<Other> &&
             same_abi<std::remove_const_t<To>, std::remove_const_t<Other>>();
    }
  } else if constexpr (std::is_enum_v<A> || std::is_enum_v<B>) {
    return std::is_enum_v<A> && std::is_enum_v<B> && sizeof(A) == sizeof(B);
  } else if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    return sizeof(A) == sizeof(B) && std::is_signed_v<A> == std::is_signed_v<B>;
  } else {
    return std::is_same_v<A, B>;
  }
}

template <typename R, typename... A, typename S, typename... B>
constexpr bool same_function(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) == sizeof...(B)) {
    return same_abi<R, S>() && (same_abi<A, B>() && ...);
  } else {
    return false;
  }
}
static_assert(!same_abi<int*, const int*>() && !same_abi<int, long>() &&
              !same_abi<int, unsigned>() && !same_abi<CUcontext, CUcontext*>());

// cuGetProcAddress gives the newest form that driver_api_version has.
#define DYN_CUDA_FUNCTION(name, version, parameters)                      \
  static_assert(version <= driver_api_version);                           \
  static_assert(same_function(static_cast<Result(*) parameters>(nullptr), \
                              PFN_##name##_v##version(nullptr)));
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION
static_assert(same_function(DriverGetVersion(nullptr), decltype (&::cuDriverGetVersion)(nullptr)));
static_assert(same_abi<DevicePointer, CUdeviceptr>() && same_abi<DeviceId, CUdevice>());

#define DYN_SAME(mine, theirs) static_assert(static_cast<int>(mine) == static_cast<int>(theirs))
DYN_SAME(Result::Success, CUDA_SUCCESS);
DYN_SAME(Result::InvalidValue, CUDA_ERROR_INVALID_VALUE);
DYN_SAME(Result::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
DYN_SAME(Result::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
DYN_SAME(Result::StubLibrary, CUDA_ERROR_STUB_LIBRARY);
DYN_SAME(Result::DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
DYN_SAME(Result::NoDevice, CUDA_ERROR_NO_DEVICE);
DYN_SAME(Result::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
DYN_SAME(Result::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
DYN_SAME(Result::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
DYN_SAME(Result::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
DYN_SAME(Result::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
DYN_SAME(Result::InvalidPtx, CUDA_ERROR_INVALID_PTX);
DYN_SAME(Result::NvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
DYN_SAME(Result::JitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
DYN_SAME(Result::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
DYN_SAME(Result::OperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
DYN_SAME(Result::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
DYN_SAME(Result::NotFound, CUDA_ERROR_NOT_FOUND);
DYN_SAME(Result::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
DYN_SAME(Result::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
DYN_SAME(Result::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
DYN_SAME(Result::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
DYN_SAME(Result::Assert, CUDA_ERROR_ASSERT);
DYN_SAME(Result::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
DYN_SAME(Result::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
DYN_SAME(Result::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
DYN_SAME(Result::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
DYN_SAME(Result::InvalidPc, CUDA_ERROR_INVALID_PC);
DYN_SAME(Result::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
DYN_SAME(Result::SystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
DYN_SAME(Result::SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
DYN_SAME(Result::CompatNotSupportedOnDevice, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
DYN_SAME(Result::Unknown, CUDA_ERROR_UNKNOWN);
#if CUDA_VERSION >= 13000
DYN_SAME(Result::Contained, CUDA_ERROR_CONTAINED);
#endif
DYN_SAME(Attribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
DYN_SAME(Attribute::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
DYN_SAME(Attribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
DYN_SAME(Attribute::MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
DYN_SAME(Attribute::GlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
DYN_SAME(Attribute::L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
DYN_SAME(Attribute::MaxThreadsPerMultiprocessor,
         CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
DYN_SAME(Attribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
DYN_SAME(Attribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
DYN_SAME(Attribute::MaxSharedMemoryPerMultiprocessor,
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
DYN_SAME(Attribute::MaxRegistersPerMultiprocessor,
         CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
DYN_SAME(Attribute::MaxSharedMemoryPerBlockOptin,
         CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
DYN_SAME(Attribute::MaxBlocksPerMultiprocessor, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
DYN_SAME(PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
DYN_SAME(PointerAttribute::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
DYN_SAME(PointerAttribute::RangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
DYN_SAME(PointerAttribute::RangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
DYN_SAME(CaptureStatus::None, CU_STREAM_CAPTURE_STATUS_NONE);
DYN_SAME(CaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
DYN_SAME(Attribute::MemoryPoolsSupported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
DYN_SAME(memory_of_device, CU_MEMORYTYPE_DEVICE);
DYN_SAME(JitOption::InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
DYN_SAME(JitOption::InfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
DYN_SAME(JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
DYN_SAME(JitOption::ErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
DYN_SAME(JitInput::Ptx, CU_JIT_INPUT_PTX);
DYN_SAME(FunctionAttribute::MaxDynamicSharedSizeBytes,
         CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
DYN_SAME(stream_non_blocking, CU_STREAM_NON_BLOCKING);
DYN_SAME(event_disable_timing, CU_EVENT_DISABLE_TIMING);
#undef DYN_SAME
static_assert(sizeof(KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1));
#define DYN_SAME_PLACE(mine, theirs) \
  static_assert(offsetof(KernelNodeParams, mine) == offsetof(CUDA_KERNEL_NODE_PARAMS_v1, theirs))
DYN_SAME_PLACE(function, func);
DYN_SAME_PLACE(grid_x, gridDimX);
DYN_SAME_PLACE(grid_z, gridDimZ);
DYN_SAME_PLACE(block_x, blockDimX);
DYN_SAME_PLACE(block_z, blockDimZ);
DYN_SAME_PLACE(shared_bytes, sharedMemBytes);
DYN_SAME_PLACE(parameters, kernelParams);
DYN_SAME_PLACE(extra, extra);
#undef DYN_SAME_PLACE

}  // namespace
}  // namespace dyn::ptx::cuda
#endif
