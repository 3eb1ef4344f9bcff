#pragma once
// dyn.Profile

#include "dyn/graph.hpp"
#include "src/python/bindings/host/failure.hpp"

namespace dyn::python {

/// One run, without the GIL. `profile`: a dyn.Profile that is told what the run did, also where it
/// fails, or None. Throws Error(user) for others.
void run_call(Call& call, PythonFailure* failure, const RunOptions& options, nb::handle profile);

void register_profile(nb::module_& module);

}  // namespace dyn::python
