#pragma once
// The simplification rules, as data: one table for each operator.

#include <optional>
#include <span>
#include <vector>

#include "graph/dims/dim.hpp"

namespace dyn::graph {

/// `apply` gives the simplified form of `a op b`, or nothing where the rule does not fit. What it
/// gives has the value of `a op b` for all values of the symbols, within their bounds, for which
/// that is defined.
struct DimRule {
  const char* name;
  std::optional<Dim> (*apply)(DimTable& table, Dim a, Dim b);
};

/// The rules of one operator, in the order in which they are tried. Empty for atoms and constants.
std::span<const DimRule> dim_rules(DimOp op);

/// `a op b`, simplified by the first rule that fits; otherwise the expression itself.
Dim apply_rules(DimTable& table, DimOp op, Dim a, Dim b);

/// Adds the operands of nested mins (maxes) to `leaves`; a dim of another operator is its own.
void collect_leaves(DimOp op, Dim dim, std::vector<Dim>& leaves);

/// The min or max (`op`) of the dims, in the form of its rules, but with what bounds alone decide.
Dim order_unproven(DimTable& table, DimOp op, std::span<const Dim> dims);

// The tables.
std::span<const DimRule> add_rules();
std::span<const DimRule> multiply_rules();
std::span<const DimRule> floordiv_rules();
std::span<const DimRule> mod_rules();
std::span<const DimRule> minimum_rules();
std::span<const DimRule> maximum_rules();

}  // namespace dyn::graph
