#include "src/runtime/structures/undecided_execution.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {

UndecidedExecution::UndecidedExecution(const UndecidedExecutable& executable, CallPorts& ports)
    : executable_(executable),
      ports_(ports),
      decided_(ports, executable.info().options.structures) {}

/// Values of an input on the device are those that work before this run has left there. Runs of
/// this call that left are over as well then: what they report comes before a structure is chosen
/// by what they may have written.
const Tensor& UndecidedExecution::values(std::size_t input) {
  if (ports_.input(input).on_device()) decided_.wait();
  try {
    return ports_.host_values(input);
  } catch (const Error& error) {
    throw error.within(fmt::format("reading the values of input '{}', which decide the structure",
                                   executable_.info().inputs[input].name));
  }
}

void UndecidedExecution::run(const RunRequest& request) {
  const DefaultFloatingPoint floating_point;  // a run may load
  ports_.check_inputs();
  if (stream_ != nullptr) stream_->begin();  // before anything changes
  ports_.drop_copies();
  decided_.run(
      executable_.structures().model_for(executable_.info().inputs, ports_.input_tensors(),
                                         [&](std::size_t i) -> const Tensor& { return values(i); }),
      request);
}

void UndecidedExecution::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  decided_.set_stream(stream);
  stream_ = std::move(stream);
}

void UndecidedExecution::use_plan(PlanPtr) { executable_.plans(); }

PlanPtr UndecidedExecution::plan() const { return decided_.plan(); }

}  // namespace dyn::runtime
