#include "graph/dims/rules.hpp"

#include <algorithm>

#include "graph/dims/interner.hpp"

namespace dyn::graph {

std::span<const DimRule> dim_rules(DimOp op) {
  switch (op) {
    case DimOp::Constant:
    case DimOp::Symbol:
    case DimOp::Named: return {};
    case DimOp::Add: return add_rules();
    case DimOp::Mul: return multiply_rules();
    case DimOp::FloorDiv: return floordiv_rules();
    case DimOp::Mod: return mod_rules();
    case DimOp::Min: return minimum_rules();
    case DimOp::Max: return maximum_rules();
  }
  return {};
}

Dim apply_rules(DimTable& table, DimOp op, Dim a, Dim b) {
  for (const DimRule& rule : dim_rules(op))
    if (const std::optional<Dim> result = rule.apply(table, a, b)) return *result;
  return DimInterner::intern(table, op, {a, b});
}

}  // namespace dyn::graph
