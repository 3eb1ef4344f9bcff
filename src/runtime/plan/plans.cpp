#include "src/runtime/plan/plans.hpp"

#include <utility>

namespace dyn::runtime {

Plans::Plans(Planner planner, std::size_t budget_bytes, Improve improve)
    : planner_(std::move(planner)), improve_(std::move(improve)), cache_(budget_bytes) {}

PlanPtr Plans::plan(std::span<const std::int64_t> symbols) const {
  if (PlanPtr known = cache_.find(symbols)) return known;
  std::unique_lock improving(improving_, std::defer_lock);
  if (improve_) {
    improving.lock();
    if (PlanPtr known = cache_.find(symbols)) return known;
  }
  PlanPtr made = planner_.make(symbols);
  if (improve_) made = improve_(made);
  PlanPtr kept = cache_.insert(made);
  if (kept == made) planned_.fetch_add(1, std::memory_order_relaxed);
  return kept;
}

}  // namespace dyn::runtime
