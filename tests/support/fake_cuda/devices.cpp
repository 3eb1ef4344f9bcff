// The fake driver's table of entry points, its devices and contexts.

#include <cstdio>
#include <cstring>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {
namespace {

struct Name {
  Result result;
  const char *name, *text;
};
constexpr Name names[] = {
    {Result::Success, "CUDA_SUCCESS", "no error"},
    {Result::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {Result::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {Result::NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {Result::InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {Result::UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {Result::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {Result::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {Result::SystemDriverMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

const Name* find(Result result) {
  for (const Name& name : names) {
    if (name.result == result) return &name;
  }
  return nullptr;
}

bool valid(DeviceId device) { return device >= 0 && device < state().control.devices; }

}  // namespace

Result cuInit(unsigned int) {
  DYN_FAKE_CALL(Nothing);
  if (state().control.devices == 0) return Result::NoDevice;
  state().initialised = true;
  return Result::Success;
}

Result cuGetErrorName(Result error, const char** text) {
  const Name* name = find(error);
  *text = name == nullptr ? nullptr : name->name;
  return name == nullptr ? Result::InvalidValue : Result::Success;
}

Result cuGetErrorString(Result error, const char** text) {
  const Name* name = find(error);
  *text = name == nullptr ? nullptr : name->text;
  return name == nullptr ? Result::InvalidValue : Result::Success;
}

Result cuDeviceGetCount(int* count) {
  DYN_FAKE_CALL(Initialised);
  *count = state().control.devices;
  return Result::Success;
}

Result cuDeviceGet(DeviceId* device, int ordinal) {
  DYN_FAKE_CALL(Initialised);
  if (!valid(ordinal)) return call.misuse(Result::InvalidDevice);
  *device = ordinal;
  return Result::Success;
}

Result cuDeviceGetName(char* name, int capacity, DeviceId device) {
  DYN_FAKE_CALL(Initialised);
  if (!valid(device)) return call.misuse(Result::InvalidDevice);
  std::snprintf(name, static_cast<std::size_t>(capacity), "%s", state().control.product);
  return Result::Success;
}

Result cuDeviceTotalMem(std::size_t* bytes, DeviceId device) {
  DYN_FAKE_CALL(Initialised);
  if (!valid(device)) return call.misuse(Result::InvalidDevice);
  *bytes = state().control.memory_bytes;
  return Result::Success;
}

// The numbers of an A100, except that every one that dyn asks for is a little off, to tell it from
// the description's.
Result cuDeviceGetAttribute(int* value, Attribute attribute, DeviceId device) {
  DYN_FAKE_CALL(Initialised);
  if (!valid(device)) return call.misuse(Result::InvalidDevice);
  const auto answer = [&] {
    switch (attribute) {
      case Attribute::MaxThreadsPerBlock: return 1024;
      case Attribute::ClockRate: return 1409000;
      case Attribute::MultiprocessorCount: return 107;
      case Attribute::MemoryClockRate: return 1592000;
      case Attribute::GlobalMemoryBusWidth: return 5120;
      case Attribute::L2CacheSize: return 41000000;
      case Attribute::MaxThreadsPerMultiprocessor: return 2048;
      case Attribute::ComputeCapabilityMajor: return state().control.capability / 10;
      case Attribute::ComputeCapabilityMinor: return state().control.capability % 10;
      case Attribute::MaxSharedMemoryPerMultiprocessor: return 167000;
      case Attribute::MaxRegistersPerMultiprocessor: return 65536;
      case Attribute::MaxSharedMemoryPerBlockOptin: return 166000;
      case Attribute::MaxBlocksPerMultiprocessor: return 31;
      case Attribute::MemoryPoolsSupported: return state().control.memory_pools ? 1 : 0;
    }
    return 0;
  };
  *value = answer();
  return Result::Success;
}

Result cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceId device) {
  DYN_FAKE_CALL(Initialised);
  if (!valid(device)) return call.misuse(Result::InvalidDevice);
  ContextTag& made = state().contexts[device];
  made.device = device;
  ++made.retained;
  ++state().control.counts.contexts.made;
  *context = &made;
  return Result::Success;
}

Result cuDevicePrimaryCtxRelease(DeviceId device) {
  DYN_FAKE_CALL(Initialised);
  ContextTag& context = state().contexts[device];
  if (context.retained == 0) return call.misuse(Result::InvalidContext);
  ++state().control.counts.contexts.ended;
  if (--context.retained == 0 && context.sticky != Result::Success) {
    free_all();
    context.sticky = Result::Success;
  }
  return Result::Success;
}

Result cuCtxPushCurrent(ContextHandle context) {
  DYN_FAKE_CALL(Initialised);
  context_stack().push_back(context);
  ++state().control.counts.pushes.made;
  return Result::Success;
}

Result cuCtxPopCurrent(ContextHandle* context) {
  DYN_FAKE_CALL(Initialised);
  if (context_stack().empty()) return call.misuse(Result::InvalidContext);
  *context = context_stack().back();
  context_stack().pop_back();
  ++state().control.counts.pushes.ended;
  return Result::Success;
}

}  // namespace dyn::test::fake

extern "C" {

__attribute__((visibility("default"))) dyn::ptx::cuda::Result cuDriverGetVersion(int* version) {
  *version = dyn::test::fake::state().control.driver_version;
  return dyn::ptx::cuda::Result::Success;
}

__attribute__((visibility("default"))) dyn::ptx::cuda::Result cuGetProcAddress(const char* symbol,
                                                                               void** function,
                                                                               int api_version,
                                                                               std::uint64_t) {
  using namespace dyn::test::fake;
  const dyn::test::FakeCuda& control = state().control;
  if (api_version > control.driver_version) return Result::InvalidValue;
  *function = nullptr;
  if (control.missing_function == nullptr || std::strcmp(control.missing_function, symbol) != 0) {
#define DYN_CUDA_FUNCTION(name, version, parameters) \
  if (std::strcmp(symbol, #name) == 0) *function = reinterpret_cast<void*>(&dyn::test::fake::name);
#include "targets/ptx/cuda/driver_functions.def"
#undef DYN_CUDA_FUNCTION
  }
  return *function != nullptr || control.null_when_missing ? Result::Success : Result::NotFound;
}
}
