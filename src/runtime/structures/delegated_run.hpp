#pragma once
// Runs of another model on one caller's tensors.

#include <memory>
#include <span>

#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

/// Not thread-safe.
class DelegatedRun {
 public:
  /// The ports must outlive it.
  explicit DelegatedRun(CallPorts& ports) : ports_(ports) {}

  /// The model has the ports' names, in their order. All inputs are bound; the outputs are in the
  /// ports afterwards.
  void run(std::shared_ptr<const Model> model, RunProfile* profile,
           std::span<const std::int64_t> symbols);
  /// As Execution's.
  void set_stream(std::shared_ptr<rkernel::Stream> stream);
  void wait();
  /// The last run's; nullptr where no plan covered it, or there was none.
  PlanPtr plan() const { return call_ ? call_->plan_or_null() : nullptr; }

 private:
  CallPorts& ports_;
  std::shared_ptr<const Model> model_;  ///< of the last run; nullptr before it
  std::unique_ptr<CallState> call_;     ///< of it
  std::shared_ptr<rkernel::Stream> stream_;
};

}  // namespace dyn::runtime
