// Rules of min and max. Nested ones of the same kind become one ordered list, from which redundant
// leaves are dropped.

#include <algorithm>

#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"
#include "graph/dims/polynomial.hpp"
#include "graph/dims/rules.hpp"

namespace dyn::graph {

void collect_leaves(DimOp op, Dim dim, std::vector<Dim>& leaves) {
  if (dim.node()->op != op) return leaves.push_back(dim);
  for (const Dim operand : dim.node()->operands) collect_leaves(op, operand, leaves);
}

namespace {

using MaybeDim = std::optional<Dim>;

/// True where min (max) of a and b is always a.
bool wins(DimOp op, Dim a, Dim b) {
  return (op == DimOp::Min ? prove_less_equal(a, b) : prove_less_equal(b, a)) == true;
}

MaybeDim choose(DimOp op, Dim a, Dim b) {
  if (wins(op, a, b)) return a;
  if (wins(op, b, a)) return b;
  return std::nullopt;
}

/// The leaves in order as a chain. A leaf that the chain before it decides is dropped, which may
/// decide further leaves: repeated until nothing changes.
Dim chain(DimTable& table, DimOp op, std::vector<Dim> leaves) {
  while (true) {
    bool dropped = false;
    Dim result = leaves[0];
    for (std::size_t i = 1; i < leaves.size(); ++i) {
      const MaybeDim chosen = choose(op, result, leaves[i]);
      dropped = dropped || chosen;
      result = chosen ? *chosen : DimInterner::intern(table, op, {result, leaves[i]});
    }
    if (!dropped) return result;
    leaves.clear();
    collect_leaves(op, result, leaves);
  }
}

/// A list of more leaves is ordered by bounds alone: proofs about each two of them would take the
/// third power of their number.
constexpr std::size_t most_proven_leaves = 16;

MaybeDim flatten(DimTable& table, DimOp op, Dim a, Dim b) {
  std::vector<Dim> leaves, kept;
  collect_leaves(op, a, leaves);
  collect_leaves(op, b, leaves);
  if (leaves.size() > most_proven_leaves) return order_unproven(table, op, leaves);
  std::ranges::sort(leaves, [](Dim x, Dim y) { return compare(x, y) < 0; });
  for (Dim leaf : leaves) {
    if (std::ranges::any_of(kept, [&](Dim other) { return wins(op, other, leaf); })) continue;
    std::erase_if(kept, [&](Dim other) { return wins(op, leaf, other); });
    kept.push_back(leaf);
  }
  return chain(table, op, kept);
}

bool is_decided(DimOp op, Dim a, Dim b) {
  return op == DimOp::Min ? bounds(a).high <= bounds(b).low : bounds(b).high <= bounds(a).low;
}

MaybeDim minimum_ordered(DimTable&, Dim a, Dim b) { return choose(DimOp::Min, a, b); }
MaybeDim minimum_flatten(DimTable& table, Dim a, Dim b) { return flatten(table, DimOp::Min, a, b); }
MaybeDim maximum_ordered(DimTable&, Dim a, Dim b) { return choose(DimOp::Max, a, b); }
MaybeDim maximum_flatten(DimTable& table, Dim a, Dim b) { return flatten(table, DimOp::Max, a, b); }

constexpr DimRule minimum_table[] = {{"ordered", minimum_ordered},
                                     {"one ordered list", minimum_flatten}};
constexpr DimRule maximum_table[] = {{"ordered", maximum_ordered},
                                     {"one ordered list", maximum_flatten}};

}  // namespace

Dim order_unproven(DimTable& table, DimOp op, std::span<const Dim> dims) {
  std::vector<Dim> leaves, kept;
  for (const Dim dim : dims) collect_leaves(op, dim, leaves);
  std::ranges::sort(leaves, [](Dim x, Dim y) { return compare(x, y) < 0; });
  for (const Dim leaf : leaves) {
    const auto is_beaten = [&](Dim other) { return other == leaf || is_decided(op, other, leaf); };
    if (std::ranges::any_of(kept, is_beaten)) continue;
    std::erase_if(kept, [&](Dim other) { return is_decided(op, leaf, other); });
    kept.push_back(leaf);
  }
  Dim result = kept.front();
  for (const Dim leaf : std::span(kept).subspan(1))
    result = DimInterner::intern(table, op, {result, leaf});
  return result;
}

std::span<const DimRule> minimum_rules() { return minimum_table; }
std::span<const DimRule> maximum_rules() { return maximum_table; }

}  // namespace dyn::graph
