#pragma once
// Runs of other models on one caller's tensors.

#include <cstddef>
#include <memory>
#include <vector>

#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

/// Not thread-safe.
class DelegatedRun {
 public:
  /// The ports must outlive it. `kept`: of how many models runs may be in flight, at least 1.
  DelegatedRun(CallPorts& ports, int kept)
      : ports_(ports), kept_(kept > 1 ? static_cast<std::size_t>(kept) : 1) {}

  /// The model has the ports' names, in their order. All inputs are bound; the outputs are in the
  /// ports afterwards. Runs of other models that are in flight stay so; beyond so many models the
  /// oldest are waited for, and what they throw is thrown before anything runs.
  void run(std::shared_ptr<const Model> model, const RunRequest& request);
  /// As Execution's, of all models.
  void set_stream(std::shared_ptr<rkernel::Stream> stream);
  void wait();
  bool in_flight() const;
  /// The last run's; nullptr where no plan covered it, or there was none.
  PlanPtr plan() const { return calls_.empty() ? nullptr : calls_.back().call->plan_or_null(); }

 private:
  struct CallOfModel {
    std::shared_ptr<const Model> model;
    std::unique_ptr<CallState> call;
  };
  CallState& call_of(std::shared_ptr<const Model> model);
  void bind(CallState& call) const;

  CallPorts& ports_;
  const std::size_t kept_;
  std::vector<CallOfModel> calls_;  ///< that of the last run behind those with runs in flight
  std::shared_ptr<rkernel::Stream> stream_;
};

}  // namespace dyn::runtime
