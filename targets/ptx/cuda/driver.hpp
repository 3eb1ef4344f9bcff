#pragma once
// The CUDA driver API as far as dyn uses it, redeclared, and found at run time: dyn builds without
// a CUDA toolkit and runs without a GPU. Values and signatures are those of NVIDIA's cuda.h; a test
// compares them where that header is installed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace dyn::ptx::cuda {

/// CUresult.
enum class Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  StubLibrary = 34,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  NvlinkUncorrectable = 220,
  JitCompilerNotFound = 221,
  UnsupportedPtxVersion = 222,
  Contained = 226,
  OperatingSystem = 304,
  InvalidHandle = 400,
  NotFound = 500,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  ContextIsDestroyed = 709,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  SystemNotReady = 802,
  SystemDriverMismatch = 803,
  CompatNotSupportedOnDevice = 804,
  Unknown = 999
};

/// CUdevice_attribute.
enum class Attribute : int {
  MaxThreadsPerBlock = 1,
  ClockRate = 13,  ///< kHz
  MultiprocessorCount = 16,
  MemoryClockRate = 36,       ///< kHz; two transfers in each cycle
  GlobalMemoryBusWidth = 37,  ///< bits
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  MaxSharedMemoryPerBlockOptin = 97,
  MaxBlocksPerMultiprocessor = 106,
  MemoryPoolsSupported = 115
};

/// CUpointer_attribute.
enum class PointerAttribute : int {
  MemoryType = 2,  ///< an unsigned int
  DeviceOrdinal = 9,
  RangeStart = 11,  ///< of the allocation
  RangeSize = 12
};

/// CUjit_option.
enum class JitOption : int {
  InfoLogBuffer = 3,
  InfoLogBufferSizeBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBufferSizeBytes = 6
};

/// CUjitInputType.
enum class JitInput : int { Ptx = 1 };

/// CUfunction_attribute.
enum class FunctionAttribute : int { MaxDynamicSharedSizeBytes = 8 };

/// CUstreamCaptureStatus.
enum class CaptureStatus : int { None = 0, Active = 1 };

inline constexpr unsigned int memory_of_device = 2;      ///< CU_MEMORYTYPE_DEVICE
inline constexpr unsigned int stream_non_blocking = 1;   ///< CU_STREAM_NON_BLOCKING
inline constexpr unsigned int event_disable_timing = 2;  ///< CU_EVENT_DISABLE_TIMING

using DeviceId = int;                      ///< CUdevice
using DevicePointer = unsigned long long;  ///< CUdeviceptr
using ContextHandle = struct ContextTag*;
using LinkHandle = struct LinkTag*;  ///< CUlinkState
using ModuleHandle = struct ModuleTag*;
using FunctionHandle = struct FunctionTag*;
using StreamHandle = struct StreamTag*;
using EventHandle = struct EventTag*;
using GraphHandle = struct GraphTag*;
using NodeHandle = struct NodeTag*;
using ExecutableGraph = struct ExecutableGraphTag*;  ///< CUgraphExec

/// CUDA_KERNEL_NODE_PARAMS in its form before CUDA 12.
struct KernelNodeParams {
  FunctionHandle function = nullptr;
  unsigned int grid_x = 1, grid_y = 1, grid_z = 1, block_x = 1, block_y = 1, block_z = 1;
  unsigned int shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
};

/// The requested version of the API, 1000 * major + 10 * minor: that of the newest form in the
/// table, later than the first that has cuGetProcAddress.
inline constexpr int driver_api_version = 11040;

/// The function that finds all others, in its form of CUDA 11.3 (later drivers keep it).
using GetProcAddress = Result (*)(const char* symbol, void** function, int api_version,
                                  std::uint64_t flags);
using DriverGetVersion = Result (*)(int* version);

struct DriverFunctions {
#define DYN_CUDA_FUNCTION(name, version, parameters) Result(*name) parameters = nullptr;
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION
};

/// An opened and initialised driver: every function is there. Closes the library with its last
/// owner.
class Driver : public DriverFunctions {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  /// The CUDA version that the driver supports, 1000 * major + 10 * minor.
  int version() const noexcept { return version_; }
  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string text(Result result) const;
  /// Throws Error(device), "DOING: TEXT", unless the result is Success.
  void check(Result result, const char* doing) const;

 private:
  friend std::shared_ptr<const Driver> open_driver(const std::string& library);
  void* library_ = nullptr;
  int version_ = 0;
};

/// Opens and initialises a driver from a library file. Throws Error(device) where the library or a
/// GPU is missing or broken, and Error(unsupported) where it is older than the PTX that dyn writes.
std::shared_ptr<const Driver> open_driver(const std::string& library);

/// The process's driver, libcuda.so.1: opened by the first call that succeeds, and never closed, as
/// its own threads may outlive everything else. Thread-safe.
std::shared_ptr<const Driver> system_driver();

/// The oldest driver that will do, 1000 * major + 10 * minor.
int least_driver_version() noexcept;
/// 11030 as "11.3".
std::string version_text(int version);
/// True where this result means that the context, and with it all memory and code on the device, is
/// lost.
bool is_fatal(Result result) noexcept;

}  // namespace dyn::ptx::cuda
