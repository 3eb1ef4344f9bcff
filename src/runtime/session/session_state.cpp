#include "src/runtime/session/session_state.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {

SessionState::SessionState(std::shared_ptr<const Model> model,
                           const std::map<std::string, std::int64_t>& dims)
    : model_(std::move(model)),
      module_(model_->module()),
      symbols_(model_->executable().binder().bind_session(dims)),
      memory_(model_->executable(), symbols_) {}

SessionState::Turn::Turn(SessionState& session) : session_(session) {
  if (session.busy_.exchange(true, std::memory_order_acquire)) {
    user_error(
        "the session is in use by another thread; one run at a time, or a session for each thread");
  }
  try {
    session.zero_forgotten();
  } catch (...) {
    session.busy_.store(false, std::memory_order_release);
    throw;
  }
}

SessionState::Turn::~Turn() {
  try {
    session_.zero_forgotten();
  } catch (...) {  // an error is on its way already, or the next turn will have this one
  }
  session_.busy_.store(false, std::memory_order_release);
}

void SessionState::Turn::begin(std::span<const std::int64_t> symbols) {
  const graph::Module& module = session_.module_;
  growth_ = module.growth.valid() ? graph::evaluate(module.growth, symbols) : 0;
  const std::int64_t first = session_.length(), last = first + growth_;
  session_.memory_.set_changing(first, last);
  session_.written_to_ = last;
}

void SessionState::Turn::finish() {
  if (!session_.held_) session_.set_length(session_.length() + growth_);
  session_.written_to_ = session_.length();
}

void SessionState::set_length(std::int64_t length) {
  length_.store(length, std::memory_order_relaxed);
  const graph::Dim symbol = module_.length;
  if (symbol.valid()) symbols_[static_cast<std::size_t>(*symbol.symbol())] = length;
}

void SessionState::zero_forgotten() {
  memory_.clear(length(), written_to_);
  written_to_ = length();
  if (fixed_forgotten_) memory_.clear_fixed();
  fixed_forgotten_ = false;
}

void SessionState::truncate(std::int64_t length) {
  const Turn turn(*this);
  if (length < 0 || length > this->length()) {
    user_error(
        fmt::format("a session of length {} cannot be truncated to {}", this->length(), length));
  }
  set_length(length);
  zero_forgotten();
}

void SessionState::reset() {
  const Turn turn(*this);
  set_length(0);
  fixed_forgotten_ = true;
  zero_forgotten();
}

void SessionState::hold_at(std::int64_t length) {
  const Turn turn(*this);
  if (length > memory_.room()) {
    user_error(
        fmt::format("a session with room for {} positions cannot have {}", memory_.room(), length));
  }
  set_length(length);
  written_to_ = length;
  held_ = true;
}

}  // namespace dyn::runtime
