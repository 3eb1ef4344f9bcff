#pragma once
// Runs by plans, in memory that a pool keeps.

#include <exception>

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/run/plan_binding.hpp"

namespace dyn::runtime {

class PlannedExecution final : public Execution {
 public:
  PlannedExecution(const PlannedExecutable& executable, CallPorts& ports, SessionState* session);
  ~PlannedExecution() override;

  void run(const RunRequest& request) override;
  void set_stream(std::shared_ptr<rkernel::Stream> stream) override;
  void wait() override;
  bool in_flight() const override { return in_flight_; }
  void use_plan(PlanPtr plan) override { binding_.use(std::move(plan)); }
  PlanPtr plan() const override { return binding_.plan(); }

 private:
  void execute(const RunRequest& request);
  int execute_taken(const RunRequest& request, bool leaves);
  void end_plan(ProfileBuilder& builder) const;
  /// A run on a caller's stream waits for nothing but outputs on the host. States are the next
  /// run's at once, and its memory that of whoever waits for some.
  bool leaves(const RunProfile* profile) const;
  [[noreturn]] void refuse(rkernel::Status status, std::size_t group,
                           const RunControl* control) const;
  /// Throws what a function of the host has met, with the node that it was called for; nullptr:
  /// nothing.
  void rethrow(const std::exception_ptr& failure, std::size_t group) const;

  const PlannedExecutable& executable_;
  CallPorts& ports_;
  SessionState* session_;
  PlanBinding binding_;
  std::shared_ptr<rkernel::Stream> stream_;
  bool in_flight_ = false;   ///< the device works for `last_run_`, which is still taken
  Run* last_run_ = nullptr;  ///< the pool's; it may have the plan still
};

}  // namespace dyn::runtime
