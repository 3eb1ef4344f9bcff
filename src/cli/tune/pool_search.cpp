#include "src/cli/tune/pool_search.hpp"

#include <cmath>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/tune/pools/dietcode_tuner.hpp"
#include "src/tune/pools/macro_kernel_search.hpp"

namespace dyn::cli {
namespace {

constexpr rkernel::Policy searched[] = {rkernel::Policy::TSCompiler, rkernel::Policy::DietCode};

}  // namespace

std::string pool_policies() {
  std::string names;
  for (const rkernel::Policy policy : searched)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(policy));
  return names;
}

rkernel::Policy pool_policy(const std::string& name) {
  for (const rkernel::Policy policy : searched)
    if (name == name_of(policy)) return policy;
  throw Error(ErrorKind::user,
              fmt::format("--policy {}: no search finds micro-kernels for it; there are dyn, whose "
                          "programs are searched, and {}",
                          name, pool_policies()));
}

PoolSearch::PoolSearch(const PoolSettings& settings,
                       std::shared_ptr<const tune::PoolMachine> machine,
                       runtime::TunedKernelPool pool, PoolMeasure measure)
    : settings_(settings),
      problem_{std::move(machine), pool.shapes, pool.seed},
      pool_(std::move(pool)),
      measure_(std::move(measure)) {}

std::optional<choice::PoolSpeed> PoolSearch::measure(const choice::PoolPlan& plan) {
  const TuneBudget& budget = settings_.budget;
  const bool spent = budget.programs
                         ? pool_.measured.size() >= static_cast<std::size_t>(*budget.programs)
                         : pool_.spent_seconds >= *budget.seconds;
  if (spent || settings_.stops()) return std::nullopt;
  choice::PoolSpeed speed = measure_(plan);
  pool_.spent_seconds += seconds_since(answered_);
  answered_ = Clock::now();
  pool_.measured.push_back(speed);
  settings_.progress();
  return speed;
}

void PoolSearch::run() {
  tune::KernelLedger ledger(pool_.measured,
                            [this](const choice::PoolPlan& plan) { return measure(plan); });
  answered_ = Clock::now();
  if (pool_.policy == rkernel::Policy::TSCompiler)
    tune::search_macro_kernels(problem_, ledger);
  else
    tune::search_dietcode_kernels(problem_, ledger);
  keep_best();
}

void PoolSearch::keep_best() {
  if (pool_.measured.empty()) return;
  if (pool_.policy == rkernel::Policy::TSCompiler) {
    pool_.kept = tune::best_macro_kernels(problem_, pool_.measured);
    pool_.of_limit = tune::wave_model_share(problem_, pool_.measured, pool_.kept);
  } else {
    pool_.kept = tune::favoured_kernels(problem_, pool_.measured);
    pool_.of_limit = tune::dietcode_share(problem_, pool_.measured, pool_.kept);
  }
}

}  // namespace dyn::cli
