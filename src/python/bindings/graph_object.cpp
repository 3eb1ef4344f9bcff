#include "src/python/bindings/graph_object.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "src/python/bindings/arrays/tensor_object.hpp"
#include "src/python/bindings/host/async_run.hpp"
#include "src/python/bindings/host/control.hpp"
#include "src/python/bindings/host/reader.hpp"
#include "src/python/bindings/info_objects.hpp"
#include "src/python/bindings/load.hpp"
#include "src/python/bindings/with_block.hpp"

namespace dyn::python {
namespace {

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

NamedShapes to_shapes(const GraphState& state, const nb::dict& given_shapes) {
  NamedShapes shapes;
  for (const auto& [key, sizes] : given_shapes) {
    const std::string& name = state.ports.inputs[port_index(state.ports.inputs, key, "input")].name;
    Shape shape;
    try {
      for (const nb::handle size : sizes) shape.push_back(nb::cast<std::int64_t>(nb::int_(size)));
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_Exception)) throw;
      user_error("the shape of input '" + name + "' is " + to_utf8(nb::repr(sizes)) +
                 ", which is no sequence of sizes: " + message_of(error));
    }
    shapes.emplace_back(name, std::move(shape));
  }
  return shapes;
}

nb::object infer_shapes(const GraphObject& self, const nb::dict& given_shapes) {
  const auto state = self.state();
  const NamedShapes inputs = to_shapes(*state, given_shapes);
  const NamedShapes outputs =
      without_gil(state->failure.get(), [&] { return state->graph.infer_shapes(inputs); });
  nb::dict shapes;
  for (const auto& [name, shape] : outputs) shapes[to_python(name)] = to_python(shape);
  return shapes;
}

void prepare(const GraphObject& self, const nb::dict& given_shapes) {
  const auto state = self.state();
  const NamedShapes inputs = to_shapes(*state, given_shapes);
  without_gil(state->failure.get(), [&] { state->graph.prepare(inputs); });
}

nb::object kernels(const GraphObject& self) {
  const auto state = self.state();
  return to_list(without_gil(nullptr, [&] { return state->graph.kernels(); }));
}

nb::object kernels_at(const GraphObject& self, const nb::dict& given_shapes) {
  const auto state = self.state();
  const NamedShapes inputs = to_shapes(*state, given_shapes);
  return to_list(without_gil(state->failure.get(), [&] { return state->graph.kernels(inputs); }));
}

MemoryNeeded memory_needed(const GraphObject& self, const nb::dict& given_shapes) {
  const auto state = self.state();
  const NamedShapes inputs = to_shapes(*state, given_shapes);
  return without_gil(state->failure.get(), [&] { return state->graph.memory_needed(inputs); });
}

void trim(const GraphObject& self) {
  const auto state = self.state();
  without_gil(nullptr, [&] { state->graph.trim(); });
}

nb::dict all_outputs(Run& run, const GraphState& state) {
  nb::dict outputs;
  for (std::size_t i = 0; i < state.ports.outputs.size(); ++i)
    outputs[to_python(state.ports.outputs[i].name)] = run.output(i);
  return outputs;
}

nb::dict run(Call& call, GraphState& state, nb::handle inputs, nb::handle out,
             const RunOptions& options, nb::handle profile) {
  Run own(call, state);
  own.give(inputs);
  own.bind(out);
  own.go(options, profile);
  return all_outputs(own, state);
}

nb::dict run_graph(const GraphObject& self, nb::handle inputs, nb::handle out, nb::handle timeout,
                   nb::handle cancellation, nb::handle profile) {
  const RunOptions options = to_run_options(timeout, cancellation);
  const auto state = self.state();
  Call call(state->graph);
  return run(call, *state, inputs, out, options, profile);
}

nb::dict run_session(const SessionObject& self, nb::handle inputs, nb::handle out,
                     nb::handle timeout, nb::handle cancellation, nb::handle profile) {
  const RunOptions options = to_run_options(timeout, cancellation);
  const auto session = self.session();
  Call call(*session);
  return run(call, *self.graph(), inputs, out, options, profile);
}

/// For InferenceSession: outputs as a list, arrays or (for `tensors`) dyn.Tensors.
nb::list run_list(const GraphObject& self, nb::handle names, nb::handle inputs, nb::handle out,
                  bool tensors, nb::handle cancellation, nb::handle profile) {
  const RunOptions options = to_run_options(nb::none(), cancellation);
  const auto state = self.state();
  Call call(state->graph);
  Run own(call, *state);
  own.give(inputs);
  own.bind(out);
  std::vector<std::size_t> wanted;
  if (!names.is_none())
    for (const nb::handle name : names)
      wanted.push_back(port_index(state->ports.outputs, name, "output"));
  if (wanted.empty())
    for (std::size_t i = 0; i < state->ports.outputs.size(); ++i) wanted.push_back(i);
  own.go(options, profile);
  nb::list outputs;
  for (const std::size_t i : wanted) outputs.append(tensors ? own.output_tensor(i) : own.output(i));
  return outputs;
}

nb::object graph_repr(const GraphObject& self) {
  if (self.is_closed()) return to_python("<dyn.Graph, closed>");
  const auto own = self.state();
  const GraphState& state = *own;
  const LoadReport& report = state.graph.load_report();
  return to_python("<dyn.Graph of " + state.source + ": (" + summary(state.ports.inputs) +
                   ") -> (" + summary(state.ports.outputs) + "), " +
                   std::to_string(report.kernels) +
                   (report.kernels == 1 ? " kernel, " : " kernels, ") +
                   std::to_string(report.weight_bytes) + " bytes of weights>");
}

nb::object session_repr(const SessionObject& self) {
  if (self.is_closed()) return to_python("<dyn.Session, closed>");
  return to_python("<dyn.Session of " + self.graph()->source + ": " +
                   std::to_string(self.session()->length()) + " positions, " +
                   std::to_string(self.session()->bytes()) + " bytes of state>");
}

void register_memory_needed(nb::module_& module) {
  nb::class_<MemoryNeeded>(module, "MemoryNeeded", "Bytes of the host's memory for one run.")
      .def_ro("weights", &MemoryNeeded::weights, "The graph's, for all its runs.")
      .def_ro("intermediates", &MemoryNeeded::intermediates,
              "Tensors between kernels, threads' scratch memory, partial sums.")
      .def_ro("outputs", &MemoryNeeded::outputs, "Those on the host, as if none were bound.")
      .def_prop_ro("total", &MemoryNeeded::total)
      .def("__repr__", [](const MemoryNeeded& self) {
        return "<dyn.MemoryNeeded: " + std::to_string(self.total()) + " bytes, " +
               std::to_string(self.weights) + " of weights, " + std::to_string(self.intermediates) +
               " of intermediates, " + std::to_string(self.outputs) + " of outputs>";
      });
}

const nb::sig run_signature(
    "def run(self, inputs: collections.abc.Mapping[str, object], out: "
    "collections.abc.Mapping[str, object] | None = None, *, timeout: float | None = None, "
    "cancellation: Cancellation | None = None, profile: Profile | None = None) -> dict[str, "
    "typing.Any]");

void register_load_report(nb::module_& module) {
  nb::class_<LoadReport>(module, "LoadReport",
                         "Times of a load, in seconds, and what was compiled.")
      .def_ro("total", &LoadReport::total)
      .def_ro("parse", &LoadReport::parse)
      .def_ro("compile", &LoadReport::compile)
      .def_ro("measure", &LoadReport::measure)
      .def_ro("weights", &LoadReport::weights)
      .def_ro("random_weights", &LoadReport::random_weights, "Not part of total.")
      .def_ro("machine", &LoadReport::machine, "Not part of total.")
      .def_ro("weights_write", &LoadReport::weights_write)
      .def_ro("kernels", &LoadReport::kernels)
      .def_ro("kernels_compiled", &LoadReport::kernels_compiled)
      .def_ro("kernels_from_disk", &LoadReport::kernels_from_disk)
      .def_ro("weight_bytes", &LoadReport::weight_bytes)
      .def_ro("weight_bytes_mapped", &LoadReport::weight_bytes_mapped)
      .def_ro("weights_from_disk", &LoadReport::weights_from_disk)
      .def("__repr__", [](const LoadReport& self) {
        return "<dyn.LoadReport: " + std::to_string(self.total) + " s, " +
               std::to_string(self.kernels) + " kernels, " + std::to_string(self.kernels_compiled) +
               " of them compiled now>";
      });
}

}  // namespace

std::shared_ptr<GraphState> GraphObject::state() const {
  if (is_closed()) user_error("this dyn.Graph was closed");
  return state_;
}

SessionObject::SessionObject(const GraphObject& graph,
                             const std::map<std::string, std::int64_t>& dims)
    : graph_(graph.state()) {
  const WithoutGil no_gil;
  session_ = std::make_shared<Session>(graph_->graph, dims);
}

std::shared_ptr<Session> SessionObject::session() const {
  if (is_closed()) user_error("this dyn.Session was closed");
  return session_;
}

void register_graph(nb::module_& module) {
  register_load_report(module);
  register_memory_needed(module);
  register_cancellation(module);
  register_info(module);
  nb::class_<GraphObject> own(
      module, "Graph",
      "A loaded model. Any number of threads may run it at once; loads and runs leave the GIL to\n"
      "others.");
  define_loads(own);
  own.def_prop_ro(
         "inputs", [](const GraphObject& self) { return to_list(self.state()->ports.inputs); },
         nb::sig("def inputs(self) -> list[Port]"))
      .def_prop_ro(
          "outputs", [](const GraphObject& self) { return to_list(self.state()->ports.outputs); },
          nb::sig("def outputs(self) -> list[Port]"))
      .def_prop_ro(
          "dims", [](const GraphObject& self) { return to_list(self.state()->graph.dims()); },
          nb::sig("def dims(self) -> list[Dim]"),
          "The dims that the model names, in its order. Sizes without a name are in the ports\n"
          "alone, where dyn calls them \"_0\" and so on.")
      .def_prop_ro(
          "states", [](const GraphObject& self) { return to_list(self.state()->graph.states()); },
          nb::sig("def states(self) -> list[State]"),
          "Kept by a Session. None: runs need no Session.")
      .def_prop_ro(
          "metadata", [](const GraphObject& self) { return self.state()->graph.metadata(); },
          nb::sig("def metadata(self) -> Metadata"), "The model's description of itself.")
      .def("kernels", kernels, nb::sig("def kernels(self) -> list[Kernel]"),
           "All kernels, in the order of a run. UserError where the structure of the model is not\n"
           "known before a run.")
      .def("kernels", kernels_at, nb::arg("shapes"),
           nb::sig("def kernels(self, shapes: dict[str, collections.abc.Sequence[int]]) -> "
                   "list[KernelChoice]"),
           "The same with the programs that they run at these input shapes. UserError where the\n"
           "run decides sizes, and for a model with states.")
      .def_prop_ro("load_report",
                   [](const GraphObject& self) { return self.state()->graph.load_report(); })
      .def_prop_ro(
          "shapes_planned",
          [](const GraphObject& self) {
            const auto state = self.state();
            const WithoutGil no_gil;
            return state->graph.shapes_planned();
          },
          "Number of distinct shapes planned so far.")
      .def_prop_ro(
          "kernels_compiled_since_load",
          [](const GraphObject& self) {
            const auto state = self.state();
            const WithoutGil no_gil;
            return state->graph.kernels_compiled_since_load();
          },
          "On the CPU 0, by design.")
      .def(
          "run", run_graph, nb::arg("inputs").none(), nb::arg("out") = nb::none(), nb::kw_only(),
          nb::arg("timeout") = nb::none(), nb::arg("cancellation") = nb::none(),
          nb::arg("profile") = nb::none(), run_signature,
          "Runs once. Inputs are arrays of NumPy, tensors of torch, or whatever speaks DLPack or\n"
          "the buffer protocol; what is dense is not copied. The outputs, by name, are new arrays\n"
          "(a dyn.Tensor where NumPy has no such dtype), or what `out` gives for them.\n"
          "CancelledError where the run was not over `timeout` seconds after this call, or where\n"
          "somebody cancelled `cancellation`; then the outputs' contents are unknown.")
      .def("run_async", run_async, nb::arg("inputs").none(), nb::arg("callback") = nb::none(),
           nb::kw_only(), nb::arg("timeout") = nb::none(), nb::arg("cancellation") = nb::none(),
           nb::sig("def run_async(self, inputs: collections.abc.Mapping[str, object], callback: "
                   "collections.abc.Callable[[dyn.run_future.RunFuture], object] | None = None, *, "
                   "timeout: float | None = None, cancellation: Cancellation | None = None) -> "
                   "dyn.run_future.RunFuture"),
           "Runs beside the caller: in the executor of the load, else in a thread of its own. The\n"
           "memory of the inputs is read until the run is over. `callback` is called with the\n"
           "future then, in the thread of the run.")
      .def("memory_needed", memory_needed, nb::arg("shapes"),
           nb::sig("def memory_needed(self, shapes: dict[str, collections.abc.Sequence[int]]) -> "
                   "MemoryNeeded"),
           "The memory that a run at these input shapes takes, by its plan; nothing is allocated.")
      .def("trim", trim,
           "Gives memory back to the system that is kept for runs to come. Runs in flight and\n"
           "their results stay as they are.")
      .def("_run_list", run_list, nb::arg("names").none(), nb::arg("inputs").none(),
           nb::arg("out") = nb::none(), nb::arg("tensors") = false,
           nb::arg("cancellation") = nb::none(), nb::arg("profile") = nb::none(),
           nb::sig("def _run_list(self, names: collections.abc.Sequence[str] | None, inputs: "
                   "collections.abc.Mapping[str, object], out: collections.abc.Mapping[str, "
                   "object] | None = None, tensors: bool = False, cancellation: Cancellation | "
                   "None = None, profile: Profile | None = None) -> list[typing.Any]"))
      .def("infer_shapes", infer_shapes, nb::arg("shapes"),
           nb::sig("def infer_shapes(self, shapes: dict[str, collections.abc.Sequence[int]]) -> "
                   "dict[str, tuple[int, ...]]"),
           "The shapes that run() would give, from input shapes alone.")
      .def("prepare", prepare, nb::arg("shapes"),
           nb::sig("def prepare(self, shapes: dict[str, collections.abc.Sequence[int]]) -> None"),
           "Plans for these input shapes ahead of the first run with them.")
      .def("__repr__", graph_repr, nb::sig("def __repr__(self) -> str"));
  define_close(own, "Gives the model back, once nothing runs it; every other use is a UserError.");
}

void register_session(nb::module_& module) {
  nb::class_<SessionObject> own(
      module, "Session",
      "The state of one sequence between the runs of a model that has one. One run at a time:\n"
      "what is called meanwhile is a UserError.");
  own.def(nb::init<const GraphObject&, const std::map<std::string, std::int64_t>&>(),
          nb::arg("graph"), nb::arg("dims") = std::map<std::string, std::int64_t>(),
          nb::sig("def __init__(self, graph: Graph, dims: dict[str, int] = {}) -> None"),
          "dims: sizes of the states by the names of their dims. One left out has the model's\n"
          "hint.")
      .def("run", run_session, nb::arg("inputs").none(), nb::arg("out") = nb::none(), nb::kw_only(),
           nb::arg("timeout") = nb::none(), nb::arg("cancellation") = nb::none(),
           nb::arg("profile") = nb::none(), run_signature,
           "Runs once, as Graph.run() does, and appends to the state.")
      .def_prop_ro(
          "length", [](const SessionObject& self) { return self.session()->length(); },
          "Positions appended so far.")
      .def_prop_ro(
          "nbytes", [](const SessionObject& self) { return self.session()->bytes(); },
          "Bytes of memory behind the states.")
      .def(
          "truncate",
          [](const SessionObject& self, std::int64_t length) {
            const auto session = self.session();
            const WithoutGil no_gil;
            session->truncate(length);
          },
          nb::arg("length"), "Forgets all positions from `length` on.")
      .def(
          "reset",
          [](const SessionObject& self) {
            const auto session = self.session();
            const WithoutGil no_gil;
            session->reset();
          },
          "Forgets everything.")
      .def("__repr__", session_repr, nb::sig("def __repr__(self) -> str"));
  define_close(own,
               "Gives the state back, once nothing runs in it; every other use is a UserError.");
}

}  // namespace dyn::python
