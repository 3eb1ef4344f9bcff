#pragma once
// Device "reference": the operators one by one, as plain loops, for comparison and tests.

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/executables/resident_weights.hpp"
#include "src/runtime/load/load_request.hpp"

namespace dyn::runtime {

class ReferenceExecutable final : public Executable {
 public:
  /// Loads the weights of the module as they lie, and adds to `report` what that took.
  ReferenceExecutable(ModelInfo info, graph::Module module, const LoadRequest& request,
                      LoadReport& report);

  std::string device_name() const override;
  std::unique_ptr<Execution> make_execution(CallPorts& ports, SessionState* session) const override;

  const graph::Module& module() const override { return module_; }
  const Binder& binder() const override { return binder_; }
  const Plans& plans() const override { return plans_; }
  std::int64_t shapes_planned() const override { return plans_.shapes_planned(); }
  std::span<const graph::AppendedState> states() const override { return states_; }
  void trim() const override { plans_.forget(); }
  WeightBytes weight_bytes() const override { return {weights_.host().bytes(), 0}; }

  const Weights& weights() const noexcept { return weights_.host(); }

 private:
  // Each is made of those above it.
  const graph::Module module_;
  const std::vector<graph::AppendedState> states_;
  const Binder binder_;
  const ResidentWeights weights_;
  const Plans plans_;
};

}  // namespace dyn::runtime
