#pragma once
// Child processes whose standard output is read.

#include <string>
#include <vector>

namespace dyn::cli {

/// Runs `words` (words[0] is the file), with this process's environment and stderr, and returns
/// what it wrote to stdout. Throws Error(device) where it cannot be started, is killed, or exits
/// with another code than 0.
std::string output_of(const std::vector<std::string>& words);

}  // namespace dyn::cli
