#pragma once
// A model that runs by plans: one for each shape, of kernels that were chosen at load.

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/executables/resident_weights.hpp"
#include "src/runtime/load/load_request.hpp"
#include "src/runtime/load/model_dump.hpp"
#include "src/runtime/plan/wiring.hpp"
#include "src/runtime/run/run_pool.hpp"

namespace dyn::runtime {

class PlannedExecutable final : public Executable {
 public:
  /// Compiles the module, loads its weights, and adds to `report` what that took. Throws what
  /// passes, targets and weights throw.
  PlannedExecutable(ModelInfo info, graph::Module module, std::shared_ptr<rkernel::Target> target,
                    const LoadRequest& request, const Dump& dump, LoadReport& report);

  std::string device_name() const override { return target_->name(); }
  std::unique_ptr<Execution> make_execution(CallPorts& ports, SessionState* session) const override;

  const graph::Module& module() const override { return compiled_.module; }
  const Binder& binder() const override { return binder_; }
  const Plans& plans() const override { return plans_; }
  std::int64_t shapes_planned() const override { return plans_.shapes_planned(); }
  std::span<const graph::AppendedState> states() const override { return states_; }
  const CompiledGroups& groups() const override { return compiled_.groups; }
  WeightBytes weight_bytes() const override {
    return {weights_.host().bytes(), weights_.device().bytes()};
  }
  StateUse state_use(std::size_t state) const override { return wiring_.states[state]; }
  bool release_idle_memory() const override { return runs_->release_idle(); }
  void trim() const override;
  std::vector<CopyInfo> copies(const Plan& plan) const override;
  std::int64_t kernels_compiled_since_load() const override {
    return target_->functions_compiled() - compiled_at_load_;
  }

  // For its executions.
  const Wiring& wiring() const noexcept { return wiring_; }
  RunPool& runs() const noexcept { return *runs_; }
  /// Throws Error(user) where groups run on a GPU that is only described: those kernels can be
  /// planned and explained, but there is nothing to run them.
  void require_device() const {
    if (is_described_) refuse_described();
  }

  std::shared_ptr<rkernel::Device> device() const override {
    return wiring_.on_device ? device_ : nullptr;
  }
  // For tests.
  const ResidentWeights& weights() const noexcept { return weights_; }

 private:
  ResidentWeights load_weights(const LoadRequest& request, LoadReport& report) const;
  Wiring wire() const;
  std::size_t copied_bytes(std::size_t transfer, const Plan& plan) const;
  std::size_t state_bytes(std::size_t state, const Plan& plan) const;
  [[noreturn]] void refuse_described() const;

  // Each is made of those above it.
  const std::shared_ptr<rkernel::Target> target_;
  const CompiledModule compiled_;
  const std::shared_ptr<rkernel::Device> device_;  ///< of the groups on a device
  const bool is_described_;
  const std::int64_t compiled_at_load_;
  const std::vector<graph::AppendedState> states_;
  const Binder binder_;
  const ResidentWeights weights_;
  const Wiring wiring_;
  const Plans plans_;
  const std::unique_ptr<RunPool> runs_;
};

}  // namespace dyn::runtime
