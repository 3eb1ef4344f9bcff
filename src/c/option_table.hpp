#pragma once
// The options that have a plain value, by the names of their members.

#include <cstdint>
#include <string>
#include <string_view>

#include "dyn/options.hpp"

namespace dyn::c {

/// Throw Error(user) where there is no such option, it takes another kind of value, or its type
/// does not hold the number. What a value means is checked by a load.
void set_option(Options& options, std::string_view name, std::string_view value);
void set_option(Options& options, std::string_view name, std::int64_t value);
void set_option(Options& options, std::string_view name, bool value);

/// For tests: every name of the table, in order.
std::string option_names();

}  // namespace dyn::c
