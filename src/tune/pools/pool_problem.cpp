#include "src/tune/pools/pool_problem.hpp"

#include <algorithm>
#include <utility>

namespace dyn::tune {

KernelLedger::KernelLedger(std::vector<choice::BlockSpeed> known, Measure measure)
    : measured_(std::move(known)), measure_(std::move(measure)) {}

std::optional<choice::BlockSpeed> KernelLedger::speed_of(const choice::BlockPlan& plan) {
  const auto found = std::ranges::find_if(
      measured_, [&](const choice::BlockSpeed& speed) { return speed.plan == plan; });
  if (found != measured_.end()) {
    if (!has_asked(plan.block)) asked_.push_back(plan.block);
    return *found;
  }
  std::optional<choice::BlockSpeed> speed = measure_(plan);
  if (!speed) return std::nullopt;
  asked_.push_back(plan.block);
  measured_.push_back(*speed);
  return speed;
}

bool KernelLedger::has_asked(const choice::BlockKernel& block) const {
  return std::ranges::find(asked_, block) != asked_.end();
}

double least_seconds(const choice::Machine& machine, const choice::ProductShape& shape) {
  double fastest = 0;
  for (const choice::TileSpeed& tile : machine.tiles)
    fastest = std::max(fastest, static_cast<double>(tile.rows * tile.columns) / tile.seconds_per_k);
  return static_cast<double>(shape.batch * shape.m * shape.n) *
         static_cast<double>(std::max<std::int64_t>(shape.k, 1)) / fastest / machine.threads;
}

}  // namespace dyn::tune
