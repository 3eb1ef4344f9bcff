#pragma once
// A driver library over host memory, for tests: they set what it pretends to be and what fails, and
// read its counts.

#include <cstddef>

#include "targets/ptx/cuda/driver.hpp"

namespace dyn::test {

struct FakeLaunch {
  const char* kernel;
  unsigned blocks, threads, shared_bytes;
  ptx::cuda::DevicePointer pointers, ints, status;  ///< host addresses
};

/// Pairs of counts that a correct user leaves equal.
struct FakeBalance {
  int made = 0, ended = 0;
  bool operator==(const FakeBalance&) const = default;
  bool even() const { return made == ended; }
};

struct FakeCounts {
  FakeBalance contexts, pushes, memory, host_memory, links, modules, streams, events, graphs,
      executables;
  int graph_launches = 0, graph_nodes = 0;  ///< nodes: kernels that these launched
  int node_updates = 0, ordered_allocations = 0;
  int launches = 0, uploads = 0, downloads = 0, clears = 0;
  int pageable = 0;               ///< uploads and downloads that were waited for in the call
  int assembled = 0;              ///< links that were completed
  int opted_in_shared_bytes = 0;  ///< by the last cuFuncSetAttribute
  int misuses = 0;  ///< calls against the rules: no current context, a handle that is not alive,
                    ///< memory out of bounds, tables or copies in memory that was freed
  const char* last_misuse = "";  ///< the function of the last one

  bool even() const {
    return contexts.even() && pushes.even() && memory.even() && host_memory.even() &&
           links.even() && modules.even() && streams.even() && events.even() && graphs.even() &&
           executables.even();
  }
};

/// Work is done as late as the rules allow: copies from page-locked memory and launches wait until
/// something waits for them.
struct FakeCuda {
  // What the driver pretends to be. The environment may set it: FAKE_CUDA_DEVICES,
  // FAKE_CUDA_CAPABILITY (10 * major + minor), FAKE_CUDA_DRIVER_VERSION (12040),
  // FAKE_CUDA_MEMORY_BYTES; and the failures: FAKE_CUDA_FAILING_FUNCTION, FAKE_CUDA_FAILING_CALL,
  // FAKE_CUDA_FAILURE (a CUresult), FAKE_CUDA_ASYNCHRONOUS_FAILURE.
  int devices = 1, capability = 80, driver_version = 12040;
  std::size_t memory_bytes = std::size_t{1} << 30;
  std::size_t host_memory_bytes = std::size_t{1} << 30;  ///< the largest block of page-locked
  const char* product = "NVIDIA A100-SXM4-80GB";
  bool memory_pools = true;                     ///< cuMemAllocAsync works
  ptx::cuda::StreamHandle capturing = nullptr;  ///< the stream that its owner captures
  const char* missing_function = nullptr;       ///< not found by cuGetProcAddress
  bool null_when_missing = true;                ///< as from CUDA 12 on; else an error

  // The failing_call-th call (1: the next) of failing_function returns `failure`; the log goes to
  // the error buffer of the link whose function fails.
  const char* failing_function = nullptr;
  int failing_call = 1;
  ptx::cuda::Result failure = ptx::cuda::Result::Success;
  const char* compiler_log = nullptr;
  /// The next kernel dies of this when it is executed. From then on every call fails with it, until
  /// the context is gone.
  ptx::cuda::Result asynchronous_failure = ptx::cuda::Result::Success;

  /// Executes a launch on the host.
  void (*on_launch)(const FakeLaunch& launch, void* user) = nullptr;
  void* user = nullptr;

  FakeCounts counts;
};

}  // namespace dyn::test

extern "C" {
/// Tests set and read this.
dyn::test::FakeCuda* dyn_fake_cuda();
/// Defaults, no counts.
void dyn_fake_cuda_reset();
/// The device whose context is current on this thread; -1: none.
int dyn_fake_cuda_current_device();
}
