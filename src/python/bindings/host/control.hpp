#pragma once
// How Python ends runs early: dyn.Cancellation and timeouts.

#include "dyn/control.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// The options of a run that begins now. `timeout`: seconds, or None; `cancellation`: a
/// dyn.Cancellation, or None. Throws Error(user) for others.
RunOptions to_run_options(nb::handle timeout, nb::handle cancellation);

void register_cancellation(nb::module_& module);

}  // namespace dyn::python
