#pragma once
// How long a policy takes to choose.

#include "src/cli/select/record.hpp"
#include "src/rkernel/target/target.hpp"

namespace dyn::cli {

/// Some hundred choices, fewer of a policy that is slow; of dyn also through its memory of choices.
/// Empty for Oracle.
ChoosingTimes time_choosing(const rkernel::Kernel& kernel, const rkernel::PlanRequest& request,
                            rkernel::Policy policy);

}  // namespace dyn::cli
