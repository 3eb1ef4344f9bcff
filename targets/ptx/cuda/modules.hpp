#pragma once
// The code that a device has loaded.

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/cuda/context.hpp"
#include "targets/ptx/cuda/stream.hpp"

namespace dyn::ptx::cuda {

/// Loads PTX text that has one kernel; above the 48 KB of shared memory that every kernel may have,
/// it asks for `shared_bytes`. Throws Error(unsupported) where the driver does not know this PTX,
/// Error(device) with the driver's log for everything else. The context must be current.
LoadedKernel load_ptx(const Context& context, const std::string& ptx, const std::string& symbol,
                      int shared_bytes);

/// Sources to kernels, each loaded once for its key and kept until the end. Thread-safe.
class Modules {
 public:
  explicit Modules(std::shared_ptr<const Context> context) : context_(std::move(context)) {}
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  ~Modules();

  /// Handles (LoadedKernel) in the order of `sources`. Kernels compiled before another source
  /// failed are kept.
  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report);

 private:
  void compile(const std::vector<const codegen::KernelSource*>& missing, int threads);

  std::shared_ptr<const Context> context_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const LoadedKernel>> kernels_;
};

}  // namespace dyn::ptx::cuda
