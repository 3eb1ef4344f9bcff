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

const std::shared_ptr<runtime::SessionState>& Session::state() const {
  if (!state_) throw Error(ErrorKind::user, "this Session has no state: it was moved from");
  return state_;
}

Outputs Session::run(const NamedTensors& inputs, const RunOptions& options) {
  runtime::CallState call(state());
  return runtime::run_named(*state()->model(), call, inputs, runtime::RunControl(options));
}

std::int64_t Session::length() const { return state()->length(); }
void Session::truncate(std::int64_t length) { state()->truncate(length); }
void Session::reset() { state()->reset(); }
std::size_t Session::bytes() const { return state()->bytes(); }

}  // namespace dyn
