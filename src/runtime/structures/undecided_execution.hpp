#pragma once
// Runs of the models that the values of inputs decide.

#include <memory>

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/executables/undecided_executable.hpp"
#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

class UndecidedExecution final : public Execution {
 public:
  UndecidedExecution(const UndecidedExecutable& executable, CallPorts& ports);

  /// Throws also what loading throws.
  void run(RunProfile* profile, std::span<const std::int64_t> symbols) override;
  void use_plan(PlanPtr plan) override;
  PlanPtr plan() const override;

 private:
  const UndecidedExecutable& executable_;
  CallPorts& ports_;
  std::shared_ptr<const Model> decided_;  ///< by the last run's values; nullptr before it
  std::unique_ptr<CallState> call_;       ///< of it
};

}  // namespace dyn::runtime
