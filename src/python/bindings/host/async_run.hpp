#pragma once
// Runs beside their caller.

#include "src/python/bindings/graph_object.hpp"

namespace dyn::python {

/// Graph.run_async: gives a dyn.RunFuture.
nb::object run_async(const GraphObject& graph, nb::handle inputs, nb::handle callback,
                     nb::handle timeout, nb::handle cancellation);

/// Until no thread of dyn's own has a run of run_async left.
void wait_for_runs();

}  // namespace dyn::python
