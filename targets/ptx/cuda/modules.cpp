#include "targets/ptx/cuda/modules.hpp"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <iterator>
#include <unordered_set>

#include "dyn/error.hpp"
#include "targets/llvm/code/parallel_jobs.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"

namespace dyn::ptx::cuda {
namespace {

// Shared memory that every block may have without asking, on every GPU ("CUDA C++ Programming
// Guide", shared memory of compute capability 8.x and 9.x).
constexpr int free_shared_bytes = 48 << 10;

/// A buffer that the driver's compiler writes to, always terminated.
class JitLog {
 public:
  void* address() { return text_.data(); }
  static constexpr std::size_t capacity() { return capacity_bytes; }
  std::string text() const { return text_.data(); }

 private:
  static constexpr std::size_t capacity_bytes = 8 << 10;
  std::array<char, capacity_bytes + 1> text_{};
};

// The driver takes a size as the pointer's own value.
void* as_option(std::size_t size) { return reinterpret_cast<void*>(size); }

std::string indented(const std::string& log) {
  std::string lines;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    if (end > at) lines += "\n  " + log.substr(at, end - at);
    at = end + 1;
  }
  return lines;
}

[[noreturn]] void refuse_ptx(const Context& context, Result result, const std::string& symbol,
                             const std::string& log) {
  if (result != Result::UnsupportedPtxVersion && result != Result::NoBinaryForGpu) {
    context.fail(result, fmt::format("loading the kernel {}{}", symbol, indented(log)));
  }
  throw Error(
      ErrorKind::unsupported,
      fmt::format("{}: the NVIDIA driver (CUDA {}) cannot compile PTX {}.{} for this GPU: {}; "
                  "update the NVIDIA driver, or use --device "
                  "emulator{}",
                  context.label(), version_text(context.driver().version()), ptx_version / 10,
                  ptx_version % 10, context.driver().text(result), indented(log)));
}

LoadedKernel compile_source(const Context& context, const codegen::KernelSource& source) {
  llvm::LLVMContext llvm_context;
  const auto module = emit_device_module(llvm_context, source, kernel_symbol(source.key));
  const KernelShape shape = kernel_shape(*module);
  const Context::Scope scope(context);
  return load_ptx(context, lower_to_ptx(*module), shape.symbol, shape.shared_bytes);
}

}  // namespace

LoadedKernel load_ptx(const Context& context, const std::string& ptx, const std::string& symbol,
                      int shared_bytes) {
  const Driver& driver = context.driver();
  auto info = std::make_unique<JitLog>(), error = std::make_unique<JitLog>();
  JitOption names[] = {JitOption::InfoLogBuffer, JitOption::InfoLogBufferSizeBytes,
                       JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferSizeBytes};
  void* values[] = {info->address(), as_option(JitLog::capacity()), error->address(),
                    as_option(JitLog::capacity())};
  LoadedKernel kernel;
  const Result result =
      driver.cuModuleLoadDataEx(&kernel.module, ptx.c_str(), std::size(names), names, values);
  if (result != Result::Success) refuse_ptx(context, result, symbol, info->text() + error->text());
  try {
    context.check(driver.cuModuleGetFunction(&kernel.function, kernel.module, symbol.c_str()),
                  fmt::format("finding the kernel {}", symbol));
    if (shared_bytes > free_shared_bytes) {
      context.check(
          driver.cuFuncSetAttribute(kernel.function, FunctionAttribute::MaxDynamicSharedSizeBytes,
                                    shared_bytes),
          fmt::format("asking for {} bytes of shared memory for the kernel {}", shared_bytes,
                      symbol));
    }
  } catch (...) {
    driver.cuModuleUnload(kernel.module);
    throw;
  }
  return kernel;
}

Modules::~Modules() {
  const Context::Scope scope(*context_, std::nothrow);
  if (!scope.active()) return;
  for (const auto& [key, kernel] : kernels_) context_->driver().cuModuleUnload(kernel->module);
}

std::vector<const void*> Modules::load(std::span<const codegen::KernelSource> sources, int threads,
                                       rkernel::CompileReport& report) {
  const std::lock_guard lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  std::vector<const codegen::KernelSource*> missing;
  std::unordered_set<std::string_view> seen;
  for (const codegen::KernelSource& source : sources) {
    if (!seen.insert(source.key).second) continue;
    ++report.kernels;
    if (kernels_.contains(source.key)) {
      ++report.from_memory;
    } else {
      missing.push_back(&source);
    }
  }
  compile(missing, threads);
  report.compiled += static_cast<int>(missing.size());
  report.compile_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<const void*> handles;
  handles.reserve(sources.size());
  for (const codegen::KernelSource& source : sources)
    handles.push_back(kernels_.at(source.key).get());
  return handles;
}

void Modules::compile(const std::vector<const codegen::KernelSource*>& missing, int threads) {
  std::mutex mutex;
  codegen::run_jobs(missing.size(), threads, [&](std::size_t i) {
    auto kernel = std::make_unique<const LoadedKernel>(compile_source(*context_, *missing[i]));
    const std::lock_guard lock(mutex);
    kernels_.emplace(missing[i]->key, std::move(kernel));
  });
}

}  // namespace dyn::ptx::cuda
