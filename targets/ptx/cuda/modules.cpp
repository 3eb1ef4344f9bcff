#include "targets/ptx/cuda/modules.hpp"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <charconv>
#include <chrono>
#include <optional>
#include <unordered_set>
#include <utility>

#include "dyn/error.hpp"
#include "targets/llvm/code/parallel_jobs.hpp"
#include "targets/llvm/jit/code_stamp.hpp"
#include "targets/ptx/cuda/code.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"

namespace dyn::ptx::cuda {
namespace {

/// A kernel as it is kept on disk: a line with its shared memory, and its cubin.
struct Assembled {
  int shared_bytes = 0;
  std::string cubin;
};

std::string to_text(const Assembled& kernel) {
  return fmt::format("{}\n{}", kernel.shared_bytes, kernel.cubin);
}

std::optional<Assembled> from_text(const std::string& text) {
  Assembled kernel;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, kernel.shared_bytes);
  if (error != std::errc() || at == end || *at != '\n') return std::nullopt;
  kernel.cubin.assign(at + 1, end);
  return kernel;
}

/// The same PTX gives other cubins on another architecture, and with another driver.
std::string cubin_stamp(const Context& context) {
  return fmt::format("{} cubin sm_{} cuda {} ptx {}", codegen::code_stamp(),
                     context.machine().compute_capability, context.driver().version(), ptx_version);
}

Assembled assemble_source(const Context& context, const codegen::KernelSource& source) {
  llvm::LLVMContext llvm_context;
  const auto module = emit_device_module(llvm_context, source, kernel_symbol(source.key));
  const KernelShape shape = kernel_shape(*module);
  const std::string ptx = lower_to_ptx(*module);
  const Context::Scope scope(context);
  return {shape.shared_bytes, assemble(context, ptx, shape.symbol)};
}

LoadedKernel load_assembled(const Context& context, const codegen::KernelSource& source,
                            const Assembled& kernel) {
  const Context::Scope scope(context);
  return load_cubin(context, kernel.cubin, kernel_symbol(source.key), kernel.shared_bytes);
}

}  // namespace

Modules::Modules(std::shared_ptr<const Context> context, const std::string& cache_dir)
    : context_(std::move(context)), disk_(cache_dir, cubin_stamp(*context_)) {}

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
  make(missing, threads, report);
  report.compile_seconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<const void*> handles;
  handles.reserve(sources.size());
  for (const codegen::KernelSource& source : sources)
    handles.push_back(kernels_.at(source.key).get());
  return handles;
}

void Modules::make(const std::vector<const codegen::KernelSource*>& missing, int threads,
                   rkernel::CompileReport& report) {
  std::mutex mutex;
  std::string warning = disk_.problem();
  const auto keep = [&](const codegen::KernelSource& source, const LoadedKernel& kernel,
                        int& counter) {
    auto kept = std::make_unique<const LoadedKernel>(kernel);
    const std::lock_guard lock(mutex);
    kernels_.emplace(source.key, std::move(kept));
    ++counter;
  };
  const auto make_one = [&](const codegen::KernelSource& source) {
    if (const std::optional<LoadedKernel> kernel = load_from_disk(source)) {
      keep(source, *kernel, report.from_disk);
      return;
    }
    const Assembled kernel = assemble_source(*context_, source);
    keep(source, load_assembled(*context_, source, kernel), report.compiled);
    const std::string problem = disk_.store(source.key, to_text(kernel));
    if (problem.empty()) return;
    const std::lock_guard lock(mutex);
    warning = problem;
  };
  codegen::run_jobs(missing.size(), threads, [&](std::size_t i) {
    try {
      make_one(*missing[i]);
    } catch (const Error& error) {
      if (missing[i]->problem.empty()) throw;
      throw error.within(fmt::format("making the code of '{}'", missing[i]->problem));
    }
  });
  if (!warning.empty() && !missing.empty()) report.warnings.push_back(std::move(warning));
}

std::optional<LoadedKernel> Modules::load_from_disk(const codegen::KernelSource& source) const {
  const std::optional<std::string> text = disk_.load(source.key);
  if (!text) return std::nullopt;
  const std::optional<Assembled> kernel = from_text(*text);
  if (!kernel) return std::nullopt;
  try {
    return load_assembled(*context_, source, *kernel);
  } catch (const Error&) {
    if (context_->lost()) throw;
    return std::nullopt;  // a driver may refuse what another one of its version made
  }
}

}  // namespace dyn::ptx::cuda
