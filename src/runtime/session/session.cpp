// The public handle.

#include "dyn/session.hpp"

#include "src/runtime/load/model.hpp"
#include "src/runtime/run/run_named.hpp"
#include "src/runtime/session/session_state.hpp"

namespace dyn {

Session::Session(const Graph& graph, const std::map<std::string, std::int64_t>& dims)
    : state_((graph.model()->require_structure(),
              std::make_shared<runtime::SessionState>(graph.model(), dims))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Outputs Session::run(const NamedTensors& inputs) {
  runtime::CallState call(state_);
  return runtime::run_named(*state_->model(), call, inputs);
}

std::int64_t Session::length() const { return state_->length(); }
void Session::truncate(std::int64_t length) { state_->truncate(length); }
void Session::reset() { state_->reset(); }
std::size_t Session::bytes() const { return state_->bytes(); }

}  // namespace dyn
