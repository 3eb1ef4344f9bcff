#pragma once
// How long a load takes, cold and cached, in processes that do nothing else.

#include <optional>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// One row about a load: `state` is "cold" or "cached" or whatever the caller says.
Row load_row(const std::string& model, const std::string& state, const LoadReport& report);

/// Loads the model twice with an empty cache directory, each time in a process of its own: first
/// cold, then cached. Gives load_row()s. Machine measurements are taken over from the real cache
/// directory.
std::vector<Row> time_loads(const Arguments& arguments);

}  // namespace dyn::cli
