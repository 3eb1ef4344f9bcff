#pragma once
// Pages of docs/ of which a part is made from the program.

#include <string>
#include <string_view>

namespace dyn::testing {

/// Checks that the lines of the page at `path` between the two marks are `wanted`, or writes them
/// where DYN_UPDATE_GOLDEN=1.
void check_generated(const std::string& path, std::string_view begin_mark,
                     std::string_view end_mark, const std::string& wanted);

}  // namespace dyn::testing
