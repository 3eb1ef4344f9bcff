#pragma once
// The x86 target: problems to kernels through LLVM's ORC.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dyn/options.hpp"
#include "src/rkernel/target.hpp"

namespace dyn::cpu {

struct TargetOptions {
  std::string isa;        ///< "" for the best that the CPU has
  std::string cache_dir;  ///< "" to keep nothing on disk
  int threads = 1;        ///< of one run; also used to compile
  bool deterministic = false;  ///< Options::deterministic
  bool perf_map = false, debugger = false;
  std::function<void(LogLevel, std::string_view)> log;
};

/// Why this system lets no code be generated (what refuses, and how to allow it); empty where it does.
std::string code_memory_refusal();

/// Throws Error(user) for an unknown ISA, Error(unsupported) for one that the CPU lacks.
std::unique_ptr<rkernel::Target> make_cpu_target(const TargetOptions& options);

}  // namespace dyn::cpu
