#pragma once
// Runs of the reference's plain loops.

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/executables/reference_executable.hpp"
#include "src/runtime/run/plan_binding.hpp"

namespace dyn::runtime {

class ReferenceExecution final : public Execution {
 public:
  ReferenceExecution(const ReferenceExecutable& executable, CallPorts& ports,
                     SessionState* session);

  /// A profile stays as it is: there are no groups.
  void run(const RunRequest& request) override;
  void use_plan(PlanPtr plan) override { binding_.use(std::move(plan)); }
  PlanPtr plan() const override { return binding_.plan(); }

 private:
  void execute(const RunControl* control);

  const ReferenceExecutable& executable_;
  CallPorts& ports_;
  SessionState* session_;
  PlanBinding binding_;
};

}  // namespace dyn::runtime
