#pragma once
// A problem of the host as a kernel of a plan.

#include <memory>

#include "src/rkernel/target/target.hpp"

namespace dyn::host {

/// `problem` has a HostCall. `bytes_per_second`: the rate of one thread, for the prediction.
std::unique_ptr<rkernel::Kernel> make_kernel(const rkernel::Problem& problem,
                                             double bytes_per_second);

}  // namespace dyn::host
