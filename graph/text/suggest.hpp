#pragma once
// Lists of names in messages, and "did you mean": those nearest to one that does not exist.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::graph {

struct OpDef;
struct SymbolInfo;
class CustomOps;

/// Up to three of `known` that differ from `name` by few edits, best first, as "; did you mean `a`
/// or `b`?"; empty where none is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& known);

/// "a, b and c", where `last` is " and "; `quote` stands before and behind each name.
std::string join(const std::vector<std::string_view>& names, std::string_view last,
                 std::string_view quote = {});

/// "`a`, `b` and `c`"; "none" for an empty list.
std::string list_of_names(const std::vector<std::string_view>& names);

/// The message for a name of an operator, or of an attribute of `op`, that does not exist;
/// `shown` is the name as messages write it.
/// `custom`: the program's operators; may be nullptr.
std::string unknown_operator(std::string_view name, const std::string& shown,
                             const CustomOps* custom);
std::string unknown_attribute(const OpDef& op, std::string_view name, const std::string& shown);
/// Says what is wrong with a symbol that a model declares; empty where nothing is. `shown` is its
/// name as messages write it.
std::string wrong_symbol(const SymbolInfo& info, const std::string& shown);
/// Says that the operator has not so many results; empty where it has.
std::string wrong_results(const OpDef& op, std::size_t results);

}  // namespace dyn::graph
