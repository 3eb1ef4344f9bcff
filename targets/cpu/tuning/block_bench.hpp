#pragma once
// Times blocks without a model, for tuners.

#include <memory>
#include <string>

#include "targets/cpu/measure/block_speeds.hpp"
#include "targets/llvm/jit/jit.hpp"

namespace dyn::cpu {

/// The main loops of an instruction set over some factors, on so many threads. Not thread-safe.
class BlockBench {
 public:
  /// `isa` and `cache_dir` as TargetOptions has them. Measures the machine where that has not been
  /// done. Throws Error(user) for an unknown ISA, Error(unsupported) for one that the CPU lacks.
  BlockBench(const std::string& isa, int threads, const std::string& cache_dir,
             const TimedOperands& operands);

  std::string target_name() const { return "cpu/" + isa_.name; }
  /// Its tiles are those over the factors.
  const choice::Machine& machine() const noexcept { return machine_; }
  /// As measure_blocks(), again and again until a slice is over, or once where that takes longer:
  /// the least of all.
  BlockSpeed measure(const choice::BlockPlan& plan, double slice_seconds) const;

 private:
  const codegen::Isa& isa_;
  TimedOperands operands_;
  std::vector<codegen::LinkedCode> code_;
  MainLoopTable loops_;
  choice::Machine machine_;
};

}  // namespace dyn::cpu
