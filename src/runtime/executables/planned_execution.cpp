#include "src/runtime/executables/planned_execution.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"
#include "src/runtime/profile/profile_builder.hpp"
#include "src/runtime/system/errors.hpp"
#include "targets/host/kernel.hpp"

namespace dyn::runtime {

PlannedExecution::PlannedExecution(const PlannedExecutable& executable, CallPorts& ports,
                                   SessionState* session)
    : executable_(executable),
      ports_(ports),
      session_(session),
      binding_(executable.binder(), executable.plans(), ports, session,
               executable.info().memory_budget.get()) {}

void PlannedExecution::run(const RunRequest& request) {
  executable_.require_device();
  if (session_ == nullptr && !executable_.states().empty()) executable_.refuse_states();
  binding_.run(request.symbols, [&] { execute(request); });
}

void PlannedExecution::execute(const RunRequest& request) {
  if (RunProfile* const profile = request.profile; profile != nullptr) {
    profile->group_seconds.resize(executable_.groups().kernels.size());
    ++profile->runs;
    if (profile->builder != nullptr) profile->builder->begin_plan();
  }
  if (stream_ != nullptr) stream_->begin();  // before anything changes
  RunPool& pool = executable_.runs();
  const bool was_in_flight = std::exchange(in_flight_, false);
  if (!was_in_flight) last_run_ = pool.take(last_run_);
  const bool leaves = this->leaves(request.profile);
  struct GiveBack {
    PlannedExecution& execution;
    RunPool& pool;
    ~GiveBack() {
      if (execution.in_flight_)
        pool.leave(execution.last_run_);
      else
        pool.give_back(execution.last_run_);
    }
  } const give_back{*this, pool};
  try {
    if (was_in_flight) pool.take_back(last_run_);
    const int failed = execute_taken(request, leaves);
    in_flight_ = failed < 0 && leaves;
    if (request.profile != nullptr && request.profile->builder != nullptr)
      end_plan(*request.profile->builder);
    if (failed >= 0) refuse(last_run_->status(), static_cast<std::size_t>(failed), request.control);
  } catch (...) {
    // The caller has still to hear what runs that left have reported.
    in_flight_ = was_in_flight && last_run_->has_left();
    throw;
  }
}

int PlannedExecution::execute_taken(const RunRequest& request, bool leaves) {
  RunPool& pool = executable_.runs();
  last_run_->use_stream(executable_.wiring(), stream_.get());
  pool.bind(*last_run_, binding_.plan(), executable_.wiring());
  last_run_->set_ports(ports_.input_memory(), ports_.output_memory(),
                       session_ != nullptr ? session_->states() : std::span<const StateMemory>());
  return last_run_->execute(pool.helpers(), request, leaves);
}

void PlannedExecution::end_plan(ProfileBuilder& builder) const {
  const ModelInfo& info = executable_.info();
  builder.end_plan(
      {executable_.module(), executable_.groups(), executable_.wiring(),
       rkernel::policy_named(info.options.policy).value_or(rkernel::Policy::Dyn), info.threads},
      binding_.plan());
}

bool PlannedExecution::leaves(const RunProfile* profile) const {
  return stream_ != nullptr && session_ == nullptr && profile == nullptr &&
         !executable_.runs().awaited() &&
         std::ranges::all_of(ports_.output_memory(), &PortMemory::on_device);
}

PlannedExecution::~PlannedExecution() {
  try {
    wait();
  } catch (...) {  // nobody is left to hear it
  }
}

void PlannedExecution::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  wait();
  stream_ = std::move(stream);
}

void PlannedExecution::wait() {
  if (!std::exchange(in_flight_, false)) return;
  struct GiveBack {
    RunPool& pool;
    Run* run;
    ~GiveBack() { pool.give_back(run); }
  } const give_back{executable_.runs(), last_run_};
  executable_.runs().take_back(last_run_);
  const int failed = last_run_->wait();
  if (failed >= 0) refuse(last_run_->status(), static_cast<std::size_t>(failed), nullptr);
}

void PlannedExecution::rethrow(const std::exception_ptr& failure, std::size_t group) const {
  const graph::Module& module = executable_.module();
  const int node = executable_.groups().fusion.groups[group].backbone_node;
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const Error& error) {
    throw error.within(node_place(module, module.nodes[static_cast<std::size_t>(node)]));
  }
}

/// `control`: of the run; a run that has left its caller has none.
void PlannedExecution::refuse(rkernel::Status status, std::size_t group,
                              const RunControl* control) const {
  const std::string& where = executable_.groups().problems[group].name;
  if (status == status_ended && control != nullptr)
    control->refuse(fmt::format("'{}' (group {} of {})", where, group + 1,
                                executable_.groups().problems.size()));
  const auto* function =
      dynamic_cast<const host::FunctionKernel*>(executable_.groups().kernels[group].get());
  if (status == rkernel::Status::LibraryFailed && function != nullptr)
    rethrow(function->take_failure(last_run_->host_status()), group);
  if (status == rkernel::Status::LibraryFailed) {
    throw Error(ErrorKind::device, fmt::format("the vendor's library failed in '{}', or there was "
                                               "no memory for it; take another policy than vendor",
                                               where));
  }
  if (status == rkernel::Status::OutOfMemory)
    throw Error(ErrorKind::device, fmt::format("no memory in '{}' for a run of this shape", where));
  user_error(fmt::format(
      "an index is out of range{} in '{}'; check the values of the inputs that hold {}",
      executable_.info().options.strict ? ", a divisor is 0, or a region is not finite" : "", where,
      executable_.info().options.strict ? "such" : "indices"));
}

}  // namespace dyn::runtime
