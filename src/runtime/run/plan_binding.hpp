#pragma once
// Which plan one caller's inputs want.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/runtime/plan/binder.hpp"
#include "src/runtime/plan/plans.hpp"
#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/memory_budget.hpp"
#include "src/runtime/session/session_state.hpp"

namespace dyn::runtime {

/// Keeps the plan while the shapes of the inputs stay, and looks at ports only when they have
/// changed. Not thread-safe.
class PlanBinding {
 public:
  /// All arguments must outlive it; `session` and `budget`: nullptr where there is none.
  PlanBinding(const Binder& binder, const Plans& plans, CallPorts& ports, SessionState* session,
              const MemoryBudget* budget);

  /// Calls `work` with ports and plan ready for it, in the session's turn where there is one.
  /// `symbols`: as in Execution::run.
  template <class Work>
  void run(std::span<const std::int64_t> symbols, const Work& work);

  /// As Execution::use_plan.
  void use(PlanPtr plan);

  /// The plan of the last run; nullptr before it.
  const PlanPtr& plan() const noexcept { return plan_; }

 private:
  void renew(std::span<const std::int64_t> symbols);
  bool same_shapes() const;
  void keep_shapes();
  void ready_outputs();
  std::span<const std::int64_t> session_symbols() const;

  const Binder& binder_;
  const Plans& plans_;
  CallPorts& ports_;
  SessionState* session_;
  const MemoryBudget* budget_;
  PlanPtr plan_;
  std::vector<Shape> input_shapes_;  ///< that the plan was made for
};

template <class Work>
void PlanBinding::run(std::span<const std::int64_t> symbols, const Work& work) {
  std::optional<SessionState::Turn> turn;
  if (session_ != nullptr) turn.emplace(*session_);
  renew(symbols);
  if (turn) turn->begin(plan_->symbols);
  work();
  if (turn) turn->finish();
}

}  // namespace dyn::runtime
