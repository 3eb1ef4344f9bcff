#pragma once
// Errors that point into the source text of a module.

#include <string>

#include "graph/module.hpp"

namespace dyn::graph {

/// "file:line:column: message", then the line and a caret under the column where the module has its source text.
/// Of a long line only a window around the column is shown. Without a line: "file: message".
std::string format_at(const Module& module, SourceLocation location, const std::string& message);

/// Throws Error(model) with the text of format_at.
[[noreturn]] void fail_at(const Module& module, SourceLocation location, const std::string& message);

}  // namespace dyn::graph
