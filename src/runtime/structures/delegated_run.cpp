#include "src/runtime/structures/delegated_run.hpp"

#include <utility>

namespace dyn::runtime {

void DelegatedRun::run(std::shared_ptr<const Model> model, RunProfile* profile,
                       std::span<const std::int64_t> symbols) {
  if (model != model_) {
    call_ = std::make_unique<CallState>(model);
    if (stream_) call_->set_stream(stream_);
    model_ = std::move(model);
  }
  for (std::size_t i = 0; i < ports_.input_count(); ++i) call_->set_input(i, ports_.input(i));
  for (std::size_t i = 0; i < ports_.output_count(); ++i) {
    if (ports_.is_bound(i))
      call_->set_output(i, ports_.output(i));
    else if (ports_.is_on_device(i))
      call_->set_output(i, ports_.device());
  }
  call_->run(profile, symbols);
  for (std::size_t i = 0; i < ports_.output_count(); ++i) ports_.share_output(i, call_->output(i));
}

void DelegatedRun::set_stream(std::shared_ptr<rkernel::Stream> stream) {
  stream_ = std::move(stream);
  if (call_) call_->set_stream(stream_);
}

void DelegatedRun::wait() {
  if (call_) call_->wait();
}

}  // namespace dyn::runtime
