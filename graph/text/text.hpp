#pragma once
// The text IR: reading and writing. docs/ir.md has the grammar.

#include <string>
#include <string_view>

#include "graph/ir/module.hpp"

namespace dyn::graph {

inline constexpr int text_version = 1;

/// Parses and verifies; shapes are inferred as well. Throws Error(model) with "file:line:column:
/// message", the line and a caret.
Module parse(std::string_view text, const std::string& source_name = "<text>");

/// parse(print(m)) prints the same text again.
std::string print(const Module& module);

/// docs/ir.md's operator chapter, generated from the registry.
std::string operator_reference();

}  // namespace dyn::graph
