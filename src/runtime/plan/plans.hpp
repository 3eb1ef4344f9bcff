#pragma once
// The plans of one model.

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>

#include "src/runtime/plan/plan_cache.hpp"
#include "src/runtime/plan/planner.hpp"

namespace dyn::runtime {

/// Makes a plan when its shape is new, and remembers it. Const functions are thread-safe. Symbols'
/// values are indexed as in the module's dims.
class Plans {
 public:
  /// Returns the plan that is to be remembered in place of a new one.
  using Improve = std::function<PlanPtr(const PlanPtr&)>;

  /// `budget_bytes`: of the plans that are remembered. One plan at a time is improved, as
  /// measurements would disturb each other; an empty `improve` leaves all as they are.
  Plans(Planner planner, std::size_t budget_bytes, Improve improve = {});

  /// The remembered plan, or a new one. Throws what Planner::make and `improve` throw.
  PlanPtr plan(std::span<const std::int64_t> symbols) const;
  /// Made anew, neither improved nor remembered.
  PlanPtr plan_uncached(std::span<const std::int64_t> symbols) const {
    return planner_.make(symbols);
  }
  std::vector<Shape> output_shapes(std::span<const std::int64_t> symbols) const {
    return planner_.output_shapes(symbols);
  }

  /// Remembers none from now on; plans that are in use live on.
  void forget() const { cache_.clear(); }

  /// How many plans were made and remembered so far.
  std::int64_t shapes_planned() const { return planned_.load(std::memory_order_relaxed); }

 private:
  Planner planner_;
  Improve improve_;
  mutable PlanCache cache_;
  mutable std::mutex improving_;
  mutable std::atomic<std::int64_t> planned_{0};
};

}  // namespace dyn::runtime
