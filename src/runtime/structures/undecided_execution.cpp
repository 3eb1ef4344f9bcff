#include "src/runtime/structures/undecided_execution.hpp"

#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {

UndecidedExecution::UndecidedExecution(const UndecidedExecutable& executable, CallPorts& ports)
    : executable_(executable), ports_(ports), decided_(ports) {}

void UndecidedExecution::run(RunProfile* profile, std::span<const std::int64_t> symbols) {
  const DefaultFloatingPoint floating_point;  // a run may load
  ports_.check_inputs();
  decided_.run(
      executable_.structures().model_for(executable_.info().inputs, ports_.input_tensors()),
      profile, symbols);
}

void UndecidedExecution::use_plan(PlanPtr) { executable_.plans(); }

PlanPtr UndecidedExecution::plan() const { return decided_.plan(); }

}  // namespace dyn::runtime
