#include "src/tune/pools/pool_problem.hpp"

#include <algorithm>
#include <utility>

namespace dyn::tune {

KernelLedger::KernelLedger(std::vector<choice::PoolSpeed> known, Measure measure)
    : measured_(std::move(known)), measure_(std::move(measure)) {}

std::optional<choice::PoolSpeed> KernelLedger::speed_of(const choice::PoolPlan& plan) {
  const auto found = std::ranges::find_if(
      measured_, [&](const choice::PoolSpeed& speed) { return speed.plan == plan; });
  if (found != measured_.end()) {
    if (!has_asked(plan.block)) asked_.push_back(plan.block);
    return *found;
  }
  std::optional<choice::PoolSpeed> speed = measure_(plan);
  if (!speed) return std::nullopt;
  asked_.push_back(plan.block);
  measured_.push_back(*speed);
  return speed;
}

bool KernelLedger::has_asked(const choice::PoolKernel& kernel) const {
  return std::ranges::find(asked_, kernel) != asked_.end();
}

double least_seconds(const PoolMachine& machine, const choice::ProductShape& shape) {
  return static_cast<double>(shape.batch * shape.m * shape.n) *
         static_cast<double>(std::max<std::int64_t>(shape.k, 1)) /
         machine.most_multiply_adds_per_second();
}

}  // namespace dyn::tune
