#include "targets/ptx/cuda/code.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>

#include "dyn/error.hpp"
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

[[noreturn]] void refuse(const Context& context, Result result, const std::string& symbol,
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

/// The driver's linker, which assembles PTX on its way. The cubin lies in its memory.
class Linker {
 public:
  Linker(const Context& context, const std::string& symbol)
      : context_(context),
        symbol_(symbol),
        values_{info_->address(), as_option(JitLog::capacity()), error_->address(),
                as_option(JitLog::capacity())} {
    check(context_.driver().cuLinkCreate(std::size(names_), names_.data(), values_.data(), &link_));
  }
  Linker(const Linker&) = delete;
  Linker& operator=(const Linker&) = delete;
  ~Linker() {
    if (link_ != nullptr) context_.driver().cuLinkDestroy(link_);
  }

  std::string assemble(std::string ptx) {
    const Driver& driver = context_.driver();
    check(driver.cuLinkAddData(link_, JitInput::Ptx, ptx.data(), ptx.size() + 1, symbol_.c_str(), 0,
                               nullptr, nullptr));
    void* cubin = nullptr;
    std::size_t bytes = 0;
    check(driver.cuLinkComplete(link_, &cubin, &bytes));
    return {static_cast<const char*>(cubin), bytes};
  }

 private:
  void check(Result result) const {
    if (result != Result::Success)
      refuse(context_, result, symbol_, info_->text() + error_->text());
  }

  const Context& context_;
  const std::string& symbol_;
  const std::unique_ptr<JitLog> info_ = std::make_unique<JitLog>(),
                                error_ = std::make_unique<JitLog>();
  std::array<JitOption, 4> names_{JitOption::InfoLogBuffer, JitOption::InfoLogBufferSizeBytes,
                                  JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferSizeBytes};
  std::array<void*, 4> values_;  ///< both arrays stay until the link is destroyed
  LinkHandle link_ = nullptr;
};

}  // namespace

std::string assemble(const Context& context, const std::string& ptx, const std::string& symbol) {
  return Linker(context, symbol).assemble(ptx);
}

LoadedKernel load_cubin(const Context& context, const std::string& cubin, const std::string& symbol,
                        int shared_bytes) {
  const Driver& driver = context.driver();
  LoadedKernel kernel;
  context.check(driver.cuModuleLoadDataEx(&kernel.module, cubin.data(), 0, nullptr, nullptr),
                fmt::format("loading the kernel {}", symbol));
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

}  // namespace dyn::ptx::cuda
