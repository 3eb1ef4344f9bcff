#pragma once
// Lists of names in messages, and "did you mean": those nearest to one that does not exist.

#include <string>
#include <string_view>
#include <vector>

namespace dyn::graph {

/// Up to three of `known` that differ from `name` by few edits, best first, as "; did you mean `a`
/// or `b`?"; empty where none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

/// "a, b and c", where `last` is " and "; `quote` stands before and behind each name.
std::string join(const std::vector<std::string_view>& names, std::string_view last,
                 std::string_view quote = {});

/// "`a`, `b` and `c`"; "none" for an empty list.
std::string list_of_names(const std::vector<std::string_view>& names);

}  // namespace dyn::graph
