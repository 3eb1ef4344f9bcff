#include "src/runtime/run/plan_binding.hpp"

#include <utility>

#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

PlanBinding::PlanBinding(const Binder& binder, const Plans& plans, CallPorts& ports,
                         SessionState* session, const MemoryBudget* budget)
    : binder_(binder),
      plans_(plans),
      ports_(ports),
      session_(session),
      budget_(budget),
      input_shapes_(ports.input_count()) {}

bool PlanBinding::same_shapes() const {
  for (std::size_t i = 0; i < input_shapes_.size(); ++i) {
    if (ports_.input(i).shape() != input_shapes_[i]) return false;
  }
  return plan_ != nullptr;
}

void PlanBinding::keep_shapes() {
  for (std::size_t i = 0; i < input_shapes_.size(); ++i) input_shapes_[i] = ports_.input(i).shape();
}

/// Nothing is allocated for a run that does not fit.
void PlanBinding::ready_outputs() {
  if (budget_ != nullptr)
    budget_->check({.intermediates = plan_->intermediate_bytes(),
                    .outputs = ports_.own_output_bytes(plan_->output_shapes)});
  ports_.ready_outputs(plan_->output_shapes);
}

std::span<const std::int64_t> PlanBinding::session_symbols() const {
  return session_ != nullptr ? session_->symbols() : std::span<const std::int64_t>();
}

void PlanBinding::renew(std::span<const std::int64_t> symbols) {
  if (!ports_.changed() && session_ == nullptr && symbols.empty()) return;
  ports_.check_inputs();
  ports_.check_decided();
  if (session_ != nullptr || !symbols.empty() || !same_shapes()) {
    plan_ = symbols.empty() ? plans_.plan(binder_.bind(ports_.input_shapes(), session_symbols()))
                            : plans_.plan(symbols);
    keep_shapes();
  }
  ready_outputs();
}

void PlanBinding::use(PlanPtr plan) {
  ports_.check_inputs();
  const std::vector<std::int64_t> bound = binder_.bind(
      ports_.input_shapes(), binder_.is_of_segment() ? plan->symbols : session_symbols());
  if (plan->symbols != bound) user_error("this plan was made for other shapes");
  plan_ = std::move(plan);
  keep_shapes();
  ready_outputs();
}

}  // namespace dyn::runtime
