#pragma once
// The text IR: reading and writing. docs/ir.md has the grammar.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

class CustomOps;

inline constexpr int text_version = 1;

/// Parses and verifies; shapes are inferred as well. Throws Error(model) with "file:line:column:
/// message", the line and a caret.
/// Nodes of `operators` with a definition are replaced by it; others point to their operators,
/// which must stay.
Module parse(std::string_view text, const std::string& source_name = "<text>",
             const std::shared_ptr<const CustomOps>& operators = nullptr);

/// A name of an expression: a scalar input, or a number that each use may give another dtype.
struct ScalarName {
  std::string name;
  DType dtype = DType::f32;
  std::optional<double> number = std::nullopt;
};
/// Parses an expression over scalars of these names: a module with one output. Throws Error(model)
/// with the place in the expression.
Module parse_scalar(std::string_view expression, const std::string& source_name,
                    const std::vector<ScalarName>& names);

/// The dims of a list over this table's: "[B, floordiv(S, 2)]". With `may_add`, `_` in it is a new
/// dim without a name. Throws Error(model) with the place in the text.
std::vector<Dim> parse_dims(std::string_view text, const std::shared_ptr<DimTable>& table,
                            bool may_add);

/// parse(print(m)) prints the same text again.
std::string print(const Module& module);

/// docs/ir.md's operator chapter, generated from the registry.
std::string operator_reference();

}  // namespace dyn::graph
