#pragma once
// Where generated code and machine measurements are kept.

#include <string>

namespace dyn::runtime {

/// Resolves Options::cache_dir: "none" gives an empty string (nothing on disk), an empty one the
/// default of the environment. The directory is neither made nor checked.
std::string resolve_cache_dir(const std::string& option);

}  // namespace dyn::runtime
