#include "src/runtime/structures/variant_execution.hpp"

#include <algorithm>
#include <utility>

#include "src/runtime/system/first_error.hpp"
#include "src/runtime/system/fp_state.hpp"

namespace dyn::runtime {

VariantExecution::VariantExecution(const VariantExecutable& executable,
                                   std::unique_ptr<Execution> usual, CallPorts& ports)
    : executable_(executable),
      ports_(ports),
      usual_(std::move(usual)),
      run_of_variant_(ports, executable.info().options.structures),
      shapes_(ports.input_count()) {}

void VariantExecution::choose() {
  for (std::size_t i = 0; i < shapes_.size(); ++i) shapes_[i] = &ports_.input(i).shape();
  const auto is_last = [](const Shape* shape, const Shape& last) { return *shape == last; };
  if (std::ranges::equal(shapes_, last_shapes_, is_last)) return;
  last_shapes_.clear();
  const DefaultFloatingPoint floating_point;  // it may load
  variant_ = executable_.variant_at(shapes_);
  for (const Shape* shape : shapes_) last_shapes_.push_back(*shape);
}

void VariantExecution::run(const RunRequest& request) {
  // Only a run of the usual model leaves ports unchanged; it runs again where nobody bound others.
  if (ports_.changed()) {
    ports_.check_inputs();
    choose();
  }
  if (variant_)
    run_of_variant_.run(variant_, request);
  else
    usual_->run(request);
}

void VariantExecution::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  wait();
  usual_->set_stream(stream);
  run_of_variant_.set_stream(std::move(stream));
}

void VariantExecution::wait() {
  FirstError error;
  error.attempt([&] { usual_->wait(); });
  error.attempt([&] { run_of_variant_.wait(); });
  error.rethrow();
}

void VariantExecution::use_plan(PlanPtr plan) { usual_->use_plan(std::move(plan)); }

PlanPtr VariantExecution::plan() const {
  return variant_ ? run_of_variant_.plan() : usual_->plan();
}

}  // namespace dyn::runtime
