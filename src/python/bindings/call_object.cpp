// dyn.Call

#include <memory>
#include <utility>
#include <vector>

#include "src/python/bindings/graph_object.hpp"
#include "src/python/bindings/host/control.hpp"
#include "src/python/bindings/profile_object.hpp"
#include "src/python/bindings/with_block.hpp"

namespace dyn::python {
namespace {

/// Used by whoever holds the GIL; while a run goes on without it the call is busy.
class CallObject {
 public:
  explicit CallObject(const GraphObject& graph)
      : CallObject(graph.state(), nullptr, std::make_unique<Call>(graph.state()->graph)) {}
  explicit CallObject(const SessionObject& session)
      : CallObject(session.graph(), session.session(), std::make_unique<Call>(*session.session())) {
  }

  void set_input(nb::handle key, nb::handle array) {
    const std::shared_ptr<Parts> own = shared_parts();
    const std::size_t index = port_index(own->graph->ports.inputs, key, "input");
    Given lent = input_tensor(own->graph->ports.inputs[index], array, Layout::refuse, own->coder);
    shared_parts()->call->set_input(index, std::move(lent.tensor));  // the array's own code has run
    own->inputs[index].swap(lent.loan);
  }

  void set_output(nb::handle key, nb::handle array) {
    const std::shared_ptr<Parts> own = shared_parts();
    const std::size_t index = port_index(own->graph->ports.outputs, key, "output");
    const PortInfo& port = own->graph->ports.outputs[index];
    Given lent = given(array, {"output", port.name}, Layout::refuse, port.dtype);
    shared_parts()->call->set_output(index, std::move(lent.tensor));
    own->outputs[index].swap(lent.loan);
  }

  void run(nb::handle timeout, nb::handle cancellation, nb::handle profile) {
    const RunOptions options = to_run_options(timeout, cancellation);
    const std::shared_ptr<Parts> own = shared_parts();
    const Busy busy(*own);
    run_call(*own->call, own->graph->failure.get(), options, profile);
  }

  nb::object output(nb::handle key) {
    const std::shared_ptr<Parts> own = shared_parts();
    const std::size_t index = port_index(own->graph->ports.outputs, key, "output");
    const Tensor tensor = own->call->output(index);
    const PortInfo& port = own->graph->ports.outputs[index];
    if (tensor.empty())
      user_error("output '" + port.name + "' is not there yet: this dyn.Call has not run");
    return output_array(port, tensor, own->coder);
  }

  void close() {
    if (parts_ == nullptr) return;
    const std::shared_ptr<Parts> own = shared_parts();  // throws where it runs
    parts_ = nullptr;
  }

  nb::object repr() const {
    if (parts_ == nullptr) return to_python("<dyn.Call, closed>");
    return to_python("<dyn.Call of " + parts_->graph->source + ": (" +
                     summary(parts_->graph->ports.inputs) + ") -> (" +
                     summary(parts_->graph->ports.outputs) + ")" +
                     (parts_->session != nullptr ? ", in a session" : "") +
                     (parts_->busy ? ", running" : "") + ">");
  }

 private:
  /// The call is destroyed before the memory that is bound to it, and before what it runs.
  struct Parts {
    Parts(std::shared_ptr<GraphState> own_graph, std::shared_ptr<Session> own_session,
          std::unique_ptr<Call> own_call)
        : graph(std::move(own_graph)),
          session(std::move(own_session)),
          inputs(graph->ports.inputs.size()),
          outputs(graph->ports.outputs.size()),
          coder(*graph),
          call(std::move(own_call)) {}
    std::shared_ptr<GraphState> graph;
    std::shared_ptr<Session> session;  ///< nullptr: none
    std::vector<std::unique_ptr<Loan>> inputs, outputs;
    CoderLease coder;
    std::unique_ptr<Call> call;
    bool busy = false;
  };

  struct Busy {
    explicit Busy(Parts& own) : parts(own) { parts.busy = true; }
    ~Busy() { parts.busy = false; }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;
    Parts& parts;
  };

  CallObject(const std::shared_ptr<GraphState>& graph, const std::shared_ptr<Session>& session,
             std::unique_ptr<Call> call)
      : parts_(std::make_shared<Parts>(graph, session, std::move(call))) {}

  std::shared_ptr<Parts> shared_parts() const {
    if (parts_ == nullptr) user_error("this dyn.Call was closed");
    if (parts_->busy)
      user_error("this dyn.Call runs in another thread; use one Call for each thread");
    return parts_;
  }

  std::shared_ptr<Parts> parts_;
};

}  // namespace

void register_call(nb::module_& module) {
  nb::class_<CallObject> own(
      module, "Call",
      "One caller's runs of a graph, or in a session, with memory that is bound once. For one\n"
      "thread at a time: what another one calls while it runs is a UserError.");
  own.def(nb::init<const GraphObject&>(), nb::arg("graph"),
          nb::sig("def __init__(self, graph: Graph) -> None"))
      .def(nb::init<const SessionObject&>(), nb::arg("session"),
           nb::sig("def __init__(self, session: Session) -> None"))
      .def("set_input", &CallObject::set_input, nb::arg("input"), nb::arg("array").none(),
           nb::sig("def set_input(self, input: str | int, array: object) -> None"),
           "Binds memory, which runs read as it is then. It must be dense and aligned.")
      .def("set_output", &CallObject::set_output, nb::arg("output"), nb::arg("array").none(),
           nb::sig("def set_output(self, output: str | int, array: object) -> None"),
           "Binds memory that runs write, of the output's dtype and shape.")
      .def("run", &CallObject::run, nb::kw_only(), nb::arg("timeout") = nb::none(),
           nb::arg("cancellation") = nb::none(), nb::arg("profile") = nb::none(),
           nb::sig("def run(self, *, timeout: float | None = None, cancellation: Cancellation | "
                   "None = None, profile: Profile | None = None) -> None"))
      .def("output", &CallObject::output, nb::arg("output"),
           nb::sig("def output(self, output: str | int) -> typing.Any"),
           "The output of the last run. One that is not bound lies in memory of the call, which\n"
           "the next run writes again where the shape stays: copy what is to stay.")
      .def("__repr__", &CallObject::repr, nb::sig("def __repr__(self) -> str"));
  define_close(own, "Gives back what is bound; every other use is a UserError.");
}

}  // namespace dyn::python
