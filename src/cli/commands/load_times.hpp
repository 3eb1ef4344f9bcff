#pragma once
// Measures how long a load takes, cold and cached, in processes that do nothing else.

#include <optional>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/cli/arguments.hpp"

namespace dyn::cli {

/// One row about a load: `state` is "cold" or "cached", or another word that the caller gives.
Row load_row(const std::string& model, const std::string& state, const LoadReport& report);

/// Loads the model twice with an empty cache directory, each time in a process of its own: first
/// cold, then cached. Returns rows of load_row(). Machine measurements are copied from the real
/// cache directory.
std::vector<Row> time_loads(const Arguments& arguments);

}  // namespace dyn::cli
