#pragma once
// Texts in a line of the output.

#include <string>
#include <vector>

namespace dyn::cli {

/// `"cat", "dog", and 7 more`: the first ones, each cut where it is long.
std::string shown(const std::vector<std::string>& texts);

}  // namespace dyn::cli
