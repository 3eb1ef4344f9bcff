#pragma once
// The friendly form of a run: inputs and outputs by name.

#include "src/runtime/run/call_state.hpp"

namespace dyn::runtime {

/// Throws Error(user) for an input that is unknown, missing or given twice, and what CallState::run
/// throws.
Outputs run_named(const Model& model, CallState& call, const NamedTensors& inputs,
                  const RunControl& control);

}  // namespace dyn::runtime
