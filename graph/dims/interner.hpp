#pragma once
// Access to a DimTable's nodes for the files that make up the dims. Nothing else includes this.

#include <vector>

#include "graph/dims/dim.hpp"

namespace dyn::graph {

/// Facts that hold for every value of a dim, kept by node. They follow from the operands' facts and
/// the symbols' infos.
struct DimFacts {
  Interval bounds;
  std::int64_t divisor;  ///< divides every value; 0: every value is 0
  int size;              ///< nodes of the expression as a tree, in which a named one is one
  bool has_names;        ///< it is or contains a named dim
};

struct DimInterner {
  /// The node with exactly these operands; no rule is applied.
  static Dim intern(DimTable& table, DimOp op, std::vector<Dim> operands, std::int64_t value = 0);
  static const DimFacts& facts(Dim dim);
  [[noreturn]] static void fail_too_large();
};

/// The facts of a node that is not interned yet.
DimFacts derive_facts(DimTable& table, DimOp op, const std::vector<Dim>& operands,
                      std::int64_t value);

}  // namespace dyn::graph
