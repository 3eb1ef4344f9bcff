#pragma once
// Runs of a Call with Python's arrays.

#include <memory>
#include <string>
#include <vector>

#include "dyn/session.hpp"
#include "dyn/texts.hpp"
#include "src/python/bindings/arrays/given.hpp"
#include "src/python/bindings/host/failure.hpp"
#include "src/python/bindings/port_object.hpp"

namespace dyn::python {

/// A loaded model as Python has it. Used by whoever holds the GIL; runs use the graph without it.
struct GraphState {
  GraphState(Graph own, std::string from, bool on_executor,
             std::shared_ptr<PythonFailure> of_objects)
      : graph(std::move(own)),
        ports(graph),
        source(std::move(from)),
        has_executor(on_executor),
        failure(std::move(of_objects)) {}
  const Graph graph;
  const Ports ports;
  const std::string source;                      ///< for messages: a path
  const bool has_executor;                       ///< no run is in a thread of dyn's own
  const std::shared_ptr<PythonFailure> failure;  ///< of readers and operators
  /// Coders that no run has at present.
  std::vector<std::unique_ptr<TextCoder>> idle_coders;
};

/// A coder of the graph, until it is destroyed.
class CoderLease {
 public:
  explicit CoderLease(GraphState& state) : state_(state) {}
  ~CoderLease();
  CoderLease(const CoderLease&) = delete;
  CoderLease& operator=(const CoderLease&) = delete;
  TextCoder& operator*();

 private:
  GraphState& state_;
  std::unique_ptr<TextCoder> coder_;
};

/// The place of a port that `key`, a name or a number, means. Throws Error(user) where there is
/// none; `what`: "input", "output".
std::size_t port_index(const std::vector<PortInfo>& ports, nb::handle key, const char* what);

/// The tensor for an input: of numbers, or of texts.
Given input_tensor(const PortInfo& port, nb::handle array, Layout layout, CoderLease& coder);
/// An output as Python gets it: an array, a dyn.Tensor where NumPy has no such dtype, or an array
/// of texts.
nb::object output_array(const PortInfo& port, const Tensor& tensor, CoderLease& coder);

/// Calls `take(key, array)` for each of a mapping, which may change meanwhile: an array's own code
/// runs.
template <class Take>
void each_array(nb::handle mapping, const char* what, const Take& take) {
  if (PyDict_Check(mapping.ptr()) != 0) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(mapping.ptr(), &position, &key, &value) != 0)
      take(nb::borrow(key), nb::borrow(value));
    return;
  }
  if (PyMapping_Check(mapping.ptr()) == 0 || !nb::hasattr(mapping, "items"))
    user_error(std::string(what) + " are a mapping from names to arrays, not " +
               described(mapping));
  for (const nb::handle item : mapping.attr("items")())
    take(nb::object(item[0]), nb::object(item[1]));
}

/// One run, from Python's arrays to Python's arrays.
class Run {
 public:
  /// `call` and `state` must outlive it.
  Run(Call& call, GraphState& state);

  /// `inputs`: a mapping from names to arrays.
  void give(nb::handle inputs);
  /// Memory for outputs, by name: a mapping, or None.
  void bind(nb::handle outputs);
  /// Without the GIL. `profile`: a dyn.Profile, or None.
  void go(const RunOptions& options, nb::handle profile);
  nb::object output(std::size_t index);
  /// A dyn.Tensor, or the object that was bound.
  nb::object output_tensor(std::size_t index);

 private:
  Call& call_;
  GraphState& state_;
  CoderLease coder_;
  std::vector<std::unique_ptr<Loan>> loans_;
  std::vector<nb::object> bound_;  ///< by output; invalid: none
};

}  // namespace dyn::python
