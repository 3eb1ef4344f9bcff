#include "src/runtime/run/call_state.hpp"

#include <new>
#include <optional>
#include <utility>

#include "src/base/crew.hpp"
#include "src/runtime/executables/executable.hpp"
#include "src/runtime/executables/execution.hpp"
#include "src/runtime/profile/profile_builder.hpp"
#include "src/runtime/session/session_state.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

CallState::CallState(const Executable& executable)
    : ports_(executable.info(), executable.device()),
      execution_(executable.make_execution(ports_, nullptr)),
      executor_(executable.info().options.executor.get()) {}

CallState::CallState(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      ports_(model_->executable().info(), model_->executable().device()),
      execution_(model_->executable().make_execution(ports_, nullptr)),
      executor_(model_->options().executor.get()) {}

CallState::CallState(std::shared_ptr<SessionState> session)
    : model_(session->model()),
      session_(std::move(session)),
      ports_(model_->executable().info(), model_->executable().device()),
      execution_(model_->executable().make_execution(ports_, session_.get())),
      executor_(model_->options().executor.get()) {}

CallState::~CallState() = default;

void CallState::run(const RunControl& control) {
  run(RunRequest{.control = control.may_end() ? &control : nullptr});
}

void CallState::run(const RunRequest& request) {
  std::optional<LentThreads> lent;  // a run may load and compile
  if (executor_ != nullptr) lent.emplace(executor_);
  try {
    execution_->run(request);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::device, "no memory for a run of this shape");
  }
}

void CallState::run(Profile& profile, const RunOptions& options) {
  ProfileBuilder builder(profile);
  RunProfile part = builder.part();
  const RunControl control(options);
  run(RunRequest{.profile = &part, .control = control.may_end() ? &control : nullptr});
}

void CallState::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  execution_->set_stream(stream);
  ports_.read_behind(std::move(stream));
}

void CallState::wait() { execution_->wait(); }

bool CallState::in_flight() const { return execution_->in_flight(); }

void CallState::use_plan(PlanPtr plan) { execution_->use_plan(std::move(plan)); }

PlanPtr CallState::plan_or_null() const { return execution_->plan(); }

const Plan& CallState::plan() const {
  const PlanPtr plan = execution_->plan();
  if (plan == nullptr) user_error("this call has not run yet");
  return *plan;  // the execution keeps it
}

}  // namespace dyn::runtime
