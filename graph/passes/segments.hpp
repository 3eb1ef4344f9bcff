#pragma once
// A model whose run decides sizes is cut where that happens. The nodes between two cuts are a
// module of their own.

#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// A side of an `if`: a node, and whether the side runs if the condition holds.
struct Side {
  int node;
  bool holds;
  bool operator==(const Side&) const = default;
};

/// A segment is either one node that defines dims (or an `if`), which the host runs, or the nodes
/// between two such nodes, which are compiled. Nodes that only one side of an `if` needs run when
/// the conditions of all their sides are as they say. Segments stand in an order of execution.
struct Segment {
  bool defines = false;
  std::vector<int> nodes;       ///< ascending, of the module that was cut
  std::vector<Side> sides;      ///< the outermost `if` first
  std::vector<ValueId> inputs;  ///< values of the module's inputs or of other segments; a node that
                                ///< defines dims has each of its operands once
  std::vector<ValueId>
      outputs;  ///< values that others read, or outputs of the graph. Weights that are outputs, or
                ///< that nodes defining dims read, come from a first segment without nodes
};

/// True where the module has a node that defines dims.
bool defines_dims(const Module& module);

/// Throws Error(unsupported) for a module with states.
std::vector<Segment> cut(const Module& module);

/// The module of a segment that is compiled, with the inputs and outputs of the segment in their
/// order. Dims are those of the whole module, which checks its constraints when it is bound. Takes
/// time in proportion to the segment, and to the symbols that the module declares.
Module module_of(const Module& whole, const Segment& segment);

}  // namespace dyn::graph
