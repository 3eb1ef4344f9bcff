#pragma once
// Runs of a model, or of another where shapes change its structure.

#include <memory>
#include <vector>

#include "src/runtime/executables/execution.hpp"
#include "src/runtime/structures/delegated_run.hpp"
#include "src/runtime/structures/variant_executable.hpp"

namespace dyn::runtime {

class VariantExecution final : public Execution {
 public:
  /// `usual`: of the same ports.
  VariantExecution(const VariantExecutable& executable, std::unique_ptr<Execution> usual,
                   CallPorts& ports);

  /// Throws also what loading throws.
  void run(const RunRequest& request) override;
  void set_stream(std::shared_ptr<rkernel::Stream> stream) override;
  void wait() override;
  bool in_flight() const override { return usual_->in_flight() || run_of_variant_.in_flight(); }
  void use_plan(PlanPtr plan) override;
  PlanPtr plan() const override;

 private:
  const VariantExecutable& executable_;
  CallPorts& ports_;
  const std::unique_ptr<Execution> usual_;
  /// Finds what runs at the inputs' shapes, unless these are the last run's.
  void choose();

  DelegatedRun run_of_variant_;
  std::shared_ptr<const Model> variant_;  ///< of the last run; nullptr: the usual model
  std::vector<Shape> last_shapes_;        ///< of the inputs; none: there was no run
  std::vector<const Shape*> shapes_;      ///< of the inputs; kept, so that a run allocates nothing
};

}  // namespace dyn::runtime
