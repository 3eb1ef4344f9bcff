#pragma once
// The search for the micro-kernels of a paper's policy.

#include <functional>

#include "src/cli/tune/budget.hpp"
#include "src/runtime/tuning/tuning_file.hpp"
#include "src/tune/pools/pool_problem.hpp"

namespace dyn::cli {

struct PoolSettings {
  TuneBudget budget;               ///< micro-kernels, or time
  std::function<bool()> stops;     ///< asked before each measurement
  std::function<void()> progress;  ///< called after each
};

/// Policies whose micro-kernels can be searched: "tscompiler, dietcode".
std::string pool_policies();
/// Throws Error(user) for a policy that has none to search for, saying which have.
rkernel::Policy pool_policy(const std::string& name);

class PoolSearch {
 public:
  /// `pool`: policy, threads, seed and shapes, and what a former search measured. `measure`: how a
  /// micro-kernel is measured.
  PoolSearch(const PoolSettings& settings, choice::Machine machine, runtime::TunedKernelPool pool,
             std::function<choice::BlockSpeed(const choice::BlockPlan&)> measure);

  /// Goes on until the budget is spent, nothing is left, or it stops; keeps the best.
  void run();
  /// All that was measured so far, and the best of it as of the last keep_best().
  const runtime::TunedKernelPool& pool() const noexcept { return pool_; }
  void keep_best();

 private:
  std::optional<choice::BlockSpeed> measure(const choice::BlockPlan& plan);

  PoolSettings settings_;
  tune::PoolProblem problem_;
  runtime::TunedKernelPool pool_;
  std::function<choice::BlockSpeed(const choice::BlockPlan&)> measure_;
};

}  // namespace dyn::cli
