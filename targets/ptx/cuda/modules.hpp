#pragma once
// The code that a device has loaded.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/jit/object_cache.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/cuda/context.hpp"
#include "targets/ptx/cuda/stream.hpp"

namespace dyn::ptx::cuda {

/// Sources to kernels, each loaded once for its key and kept until the end. Behind them cubins on
/// disk, by key, architecture, and versions of driver and dyn. Thread-safe.
class Modules {
 public:
  /// `cache_dir`: directory of the cubins; empty: none are kept.
  Modules(std::shared_ptr<const Context> context, const std::string& cache_dir);
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;
  ~Modules();

  /// Handles (LoadedKernel) in the order of `sources`. Kernels compiled before another source
  /// failed are kept.
  std::vector<const void*> load(std::span<const codegen::KernelSource> sources, int threads,
                                rkernel::CompileReport& report);

 private:
  void make(const std::vector<const codegen::KernelSource*>& missing, int threads,
            rkernel::CompileReport& report);
  /// Nothing where there is none that this driver takes.
  std::optional<LoadedKernel> load_from_disk(const codegen::KernelSource& source) const;

  std::shared_ptr<const Context> context_;
  const codegen::ObjectCache disk_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<const LoadedKernel>> kernels_;
};

}  // namespace dyn::ptx::cuda
