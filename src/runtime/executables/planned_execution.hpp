#pragma once
// Runs by plans, in memory that a pool keeps.

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/run/plan_binding.hpp"

namespace dyn::runtime {

class PlannedExecution final : public Execution {
 public:
  PlannedExecution(const PlannedExecutable& executable, CallPorts& ports, SessionState* session);

  void run(RunProfile* profile, std::span<const std::int64_t> symbols) override;
  void use_plan(PlanPtr plan) override { binding_.use(std::move(plan)); }
  PlanPtr plan() const override { return binding_.plan(); }

 private:
  void execute(RunProfile* profile);
  [[noreturn]] void refuse(rkernel::Status status, std::size_t group) const;

  const PlannedExecutable& executable_;
  CallPorts& ports_;
  SessionState* session_;
  PlanBinding binding_;
  Run* last_run_ = nullptr;  ///< the pool's; it may have the plan still
};

}  // namespace dyn::runtime
