#pragma once
// Plug-ins: operators in shared objects (dyn/plugin.h).

#include "dyn/options.hpp"

namespace dyn::runtime {

/// The options with the operators of their plug-ins in `operators`, and no plug-ins. Throws as
/// Operators::from_plugin and Operators::joined do.
Options with_plugins(Options options);

}  // namespace dyn::runtime
