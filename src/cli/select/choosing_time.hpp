#pragma once
// Measures how long a policy takes to choose.

#include "src/cli/select/record.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::cli {

/// Times some hundred choices, fewer for a slow policy; for policy dyn also choices from its
/// memory. Empty for Oracle.
ChoosingTimes time_choosing(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                            rkernel::Policy policy);

}  // namespace dyn::cli
