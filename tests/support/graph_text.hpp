#pragma once
// The text of a graph of a few statements, for tests.

#include <string>
#include <vector>

namespace dyn::testing {

/// "dyn 1", `dims` as symbols in 0..1000000, and one graph. `parameters` and `results` as the IR
/// writes them: "x: f32[A, B], y: f32[B]"; `statements` define what `results` names.
std::string graph_text(const std::vector<std::string>& dims, const std::string& parameters,
                       const std::string& results, const std::string& statements);

}  // namespace dyn::testing
