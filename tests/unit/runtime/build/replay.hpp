#pragma once
// A parsed model, built again by the public builder.

#include "dyn/builder.hpp"
#include "graph/ir/module.hpp"

namespace dyn::testing {

/// Adds all of the module to a builder, with the same names. The module has no bodies and texts.
Builder replayed(const graph::Module& module);

/// The module's text with the types of outputs as they are computed.
std::string text_without_claims(graph::Module module);

}  // namespace dyn::testing
