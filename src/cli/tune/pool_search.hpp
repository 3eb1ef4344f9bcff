#pragma once
// The search for the micro-kernels of a paper's policy.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "src/base/clock.hpp"
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

/// How a micro-kernel is measured, or predicted.
using PoolMeasure = std::function<choice::PoolSpeed(const choice::PoolPlan&)>;

class PoolSearch {
 public:
  /// `pool`: policy, threads, seed and shapes, and what a former search measured.
  PoolSearch(const PoolSettings& settings, std::shared_ptr<const tune::PoolMachine> machine,
             runtime::TunedKernelPool pool, PoolMeasure measure);

  /// Goes on until the budget is spent, nothing is left, or it stops; keeps the best.
  void run();
  /// All that was measured so far, and the best of it as of the last keep_best().
  const runtime::TunedKernelPool& pool() const noexcept { return pool_; }
  void keep_best();

 private:
  std::optional<choice::PoolSpeed> measure(const choice::PoolPlan& plan);

  PoolSettings settings_;
  tune::PoolProblem problem_;
  runtime::TunedKernelPool pool_;
  PoolMeasure measure_;
  Clock::time_point answered_;  ///< when the last answer was given: what follows is searching
};

}  // namespace dyn::cli
