#include "src/runtime/executables/undecided_execution.hpp"

#include <utility>

#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {

UndecidedExecution::UndecidedExecution(const UndecidedExecutable& executable, CallPorts& ports)
    : executable_(executable), ports_(ports) {}

void UndecidedExecution::run(RunProfile* profile, std::span<const std::int64_t> symbols) {
  const DefaultFloatingPoint floating_point;  // a run may load
  ports_.check_inputs();
  std::shared_ptr<const Model> wanted =
      executable_.structures().model_for(executable_.info().inputs, ports_.input_tensors());
  if (wanted != decided_) {
    call_ = std::make_unique<CallState>(wanted);
    decided_ = std::move(wanted);
  }
  for (std::size_t i = 0; i < ports_.input_count(); ++i) call_->set_input(i, ports_.input(i));
  for (std::size_t i = 0; i < ports_.output_count(); ++i) {
    if (ports_.is_bound(i)) call_->set_output(i, ports_.output(i));
  }
  call_->run(profile, symbols);
  for (std::size_t i = 0; i < ports_.output_count(); ++i) ports_.share_output(i, call_->output(i));
}

void UndecidedExecution::use_plan(PlanPtr) { executable_.plans(); }

PlanPtr UndecidedExecution::plan() const { return call_ ? call_->plan_or_null() : nullptr; }

}  // namespace dyn::runtime
