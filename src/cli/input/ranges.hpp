#pragma once
// `--dims S=1..512*2`: values of a dim by name, and the product of several.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::cli {

struct DimValues {
  std::string name;
  std::vector<std::int64_t> values;
};

/// ITEM,ITEM,... with ITEM one of `7`, `a..b` (every value), `a..b+k` (every k-th) and `a..b*k`
/// (geometric); both ends count. Throws Error(user) that says what is wrong, for the caller to say
/// where.
std::vector<std::int64_t> parse_values(std::string_view text);

/// NAME=VALUES. Throws Error(user) that quotes the text.
DimValues parse_dim_values(std::string_view text);

/// Every combination, the last name varying fastest. A name that is given twice, or more than a
/// million combinations, are an Error(user). No names give one empty combination.
std::vector<std::map<std::string, std::int64_t>> product(std::span<const DimValues> dims);

/// A whole decimal number; throws Error(user) that quotes `whole`.
std::int64_t parse_integer(std::string_view text, std::string_view whole);

}  // namespace dyn::cli
