#pragma once
// Two targets as one: what the first cannot run goes to the second.

#include <functional>
#include <memory>

#include "src/rkernel/target/target.hpp"

namespace dyn::runtime {

/// `make_host` is called when the first problem needs it; that target must run every problem.
/// Packed operands are its own.
std::shared_ptr<rkernel::Target> with_fallback(
    std::shared_ptr<rkernel::Target> device_target,
    std::function<std::shared_ptr<rkernel::Target>()> make_host);

}  // namespace dyn::runtime
