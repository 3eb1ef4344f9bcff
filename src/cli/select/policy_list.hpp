#pragma once
// --policies dyn,vortex

#include <string_view>
#include <vector>

#include "src/rkernel/target/policy.hpp"

namespace dyn::cli {

/// Empty: all. Throws Error(user) for one that does not exist, naming all that do, and for one that
/// is listed twice.
std::vector<rkernel::Policy> parse_policies(std::string_view text);

}  // namespace dyn::cli
