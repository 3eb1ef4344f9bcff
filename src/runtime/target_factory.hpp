#pragma once
// The targets that Options can name.

#include <memory>

#include "dyn/options.hpp"
#include "src/rkernel/target.hpp"

namespace dyn::runtime {

/// The target for Options::device. Throws Error(user) for an unknown device or ISA, Error(unsupported) for one that this
/// machine lacks.
std::shared_ptr<rkernel::Target> make_target(const Options& options, int threads);

}  // namespace dyn::runtime
