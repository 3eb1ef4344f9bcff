#pragma once
// The targets that Options can name.

#include <memory>

#include "dyn/options.hpp"
#include "src/rkernel/target.hpp"

namespace dyn::runtime {

/// The target for Options::device. Throws Error(user) for an unknown device or ISA, Error(unsupported) for one that this
/// machine lacks.
std::shared_ptr<rkernel::Target> make_target(const Options& options, int threads);

/// The same options, but with the reference for device "cpu" where the system refuses executable memory by any mapping; a warning is
/// logged then.
Options with_usable_device(Options options);

}  // namespace dyn::runtime
