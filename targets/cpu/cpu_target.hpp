#pragma once
// The x86 target: problems to kernels through LLVM's ORC.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "dyn/dtype.hpp"
#include "dyn/options.hpp"
#include "src/base/dump.hpp"
#include "src/rkernel/problem/factors.hpp"
#include "src/rkernel/target/target.hpp"
#include "src/rkernel/target/tuning.hpp"

namespace dyn::cpu {

struct TargetOptions {
  std::string isa;               ///< "" for the best that the CPU has
  std::string cache_dir;         ///< "" to keep nothing on disk
  int threads = 1;               ///< of one run; also used to compile
  DType precision = DType::f32;  ///< what contractions with weights multiply in: f32, bf16 or i8
  rkernel::Factors weights;  ///< how constant right sides of contractions lie in memory: f32, bf16,
                             ///< f16, i8 or codes, whose scales are f16 where the ISA can widen it
  bool deterministic = false;                     ///< Options::deterministic
  rkernel::Policy policy = rkernel::Policy::Dyn;  ///< who chooses for contractions; Oracle: dyn,
                                                  ///< with all others ready for Kernel::choices()
  bool vendor = false;                            ///< Options::vendor
  std::shared_ptr<const rkernel::Tuning> tuning;  ///< programs that policy Dyn takes; nullptr: none
  bool perf_map = false, debugger = false;
  std::function<void(LogLevel, std::string_view)> log;
  Dump dump;
};

/// Throws Error(user) for an unknown ISA and a tuning for another machine, Error(unsupported) for
/// one that the CPU lacks, or that has no instructions for the weights' dtype.
std::unique_ptr<rkernel::Target> make_cpu_target(const TargetOptions& options);

}  // namespace dyn::cpu
