#pragma once
// Errors that point into the source text of a module.

#include <string>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// "file:line:column: message", then the line and a caret under the column where the module has its
/// source text. Of a long line only a window around the column is shown. Without a line: "file:
/// message".
std::string format_at(const Module& module, SourceLocation location, const std::string& message);

/// Where a statement is: what a comment "# from ..." at its end names, such as the node of the
/// model that it was imported from, or "line 7"; empty without a line.
std::string place_of(const Module& module, SourceLocation location);

/// Throws Error(model) with the text of format_at.
[[noreturn]] void fail_at(const Module& module, SourceLocation location,
                          const std::string& message);

}  // namespace dyn::graph
