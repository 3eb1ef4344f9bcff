#include "src/runtime/structures/delegated_run.hpp"

#include <algorithm>
#include <utility>

#include "src/runtime/system/first_error.hpp"

namespace dyn::runtime {

/// A call that others follow has runs in flight: else it would keep tensors that nobody needs.
CallState& DelegatedRun::call_of(std::shared_ptr<const Model> model) {
  const auto known = std::ranges::find(calls_, model, &CallOfModel::model);
  if (known != calls_.end()) {
    std::rotate(known, known + 1, calls_.end());
  } else {
    auto call = std::make_unique<CallState>(model);
    if (stream_) call->set_stream(stream_);
    calls_.push_back({std::move(model), std::move(call)});
  }
  const CallState* const last = calls_.back().call.get();
  std::erase_if(calls_, [&](const CallOfModel& other) {
    return other.call.get() != last && !other.call->in_flight();
  });
  while (calls_.size() > kept_) {
    const CallOfModel oldest = std::move(calls_.front());
    calls_.erase(calls_.begin());
    oldest.call->wait();
  }
  return *calls_.back().call;
}

/// An output that the call allocates on the device stays while the ports still have it: whoever
/// asked for another has taken it from there.
void DelegatedRun::bind(CallState& call) const {
  for (std::size_t i = 0; i < ports_.input_count(); ++i) call.share_input(i, ports_);
  for (std::size_t i = 0; i < ports_.output_count(); ++i) {
    const void* const made = call.output(i).raw();
    if (ports_.is_bound(i))
      call.set_output(i, ports_.output(i));
    else if (ports_.is_on_device(i) && (made == nullptr || made != ports_.output(i).raw()))
      call.set_output(i, ports_.device());
  }
}

void DelegatedRun::run(std::shared_ptr<const Model> model, const RunRequest& request) {
  CallState& call = call_of(std::move(model));
  if (stream_) call.check_device(*ports_.device());
  bind(call);
  call.run(request);
  for (std::size_t i = 0; i < ports_.output_count(); ++i) ports_.share_output(i, call.output(i));
}

void DelegatedRun::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  wait();
  stream_ = std::move(stream);
  if (!calls_.empty()) calls_.back().call->set_stream(stream_);
}

void DelegatedRun::wait() {
  FirstError error;
  for (const CallOfModel& each : calls_) error.attempt([&] { each.call->wait(); });
  if (calls_.size() > 1) calls_.erase(calls_.begin(), calls_.end() - 1);
  error.rethrow();
}

bool DelegatedRun::in_flight() const {
  return std::ranges::any_of(calls_,
                             [](const CallOfModel& each) { return each.call->in_flight(); });
}

}  // namespace dyn::runtime
