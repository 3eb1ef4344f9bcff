#pragma once
// Errors that point into the source text of a module.

#include <string>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// "file:line:column: message", then the line and a caret under the column where the module has its
/// source text. A long line is cut to a window around the column. Without a
/// line: "file: message"; without a column, where nobody has written the line: "file: place:
/// message", as place_of() names it.
std::string format_at(const Module& module, SourceLocation location, const std::string& message);

/// Names the place of a statement: the text of a comment "# from ..." at its end, such as the node
/// of the model that it was imported from, or "line 7"; empty without a line.
std::string place_of(const Module& module, SourceLocation location);

/// Names a node: that of the model that it was imported from, or "relu 'y' (line 7)".
std::string node_place(const Module& module, const Node& node);

/// Throws Error(model) with the text of format_at.
[[noreturn]] void fail_at(const Module& module, SourceLocation location,
                          const std::string& message);

}  // namespace dyn::graph
