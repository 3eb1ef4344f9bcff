#pragma once
// Runs of the models that the values of inputs decide.

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/structures/delegated_run.hpp"
#include "src/runtime/structures/undecided_executable.hpp"

namespace dyn::runtime {

class UndecidedExecution final : public Execution {
 public:
  UndecidedExecution(const UndecidedExecutable& executable, CallPorts& ports);

  /// Throws also what loading throws. Waits for the stream where inputs on the device decide.
  void run(const RunRequest& request) override;
  void set_stream(std::shared_ptr<rkernel::Stream> stream) override;
  void wait() override { decided_.wait(); }
  bool in_flight() const override { return decided_.in_flight(); }
  void use_plan(PlanPtr plan) override;
  PlanPtr plan() const override;

 private:
  const Tensor& values(std::size_t input);

  const UndecidedExecutable& executable_;
  CallPorts& ports_;
  DelegatedRun decided_;  ///< by the run's values
  std::shared_ptr<rkernel::Stream> stream_;
};

}  // namespace dyn::runtime
