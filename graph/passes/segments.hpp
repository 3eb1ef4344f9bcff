#pragma once
// A model whose run decides sizes, cut where it does. What lies between two cuts is a module of its
// own.

#include <vector>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// A side of an `if`: a node, and whether it is the one that is run if the condition holds.
struct Side {
  int node;
  bool holds;
  bool operator==(const Side&) const = default;
};

/// Either one node that defines dims (or an `if`), which the host runs, or nodes between such,
/// which are compiled. It runs when the conditions of all its sides are as they say: nodes that one
/// side of an `if` alone needs. Segments stand in an order of execution.
struct Segment {
  bool defines = false;
  std::vector<int> nodes;        ///< ascending, of the module that was cut
  std::vector<Side> sides;       ///< the outermost `if` first
  std::vector<ValueId> inputs;   ///< values from elsewhere: of the module's inputs, or other
                                 ///< segments'. Of a node that defines its operands, each once
  std::vector<ValueId> outputs;  ///< values that others read, or outputs of the graph. Weights that
                                 ///< nodes which define read, and those that are outputs, come from
                                 ///< a first segment without nodes
};

/// Whether there is such a node.
bool defines_dims(const Module& module);

/// Throws Error(unsupported) for a module with states.
std::vector<Segment> cut(const Module& module);

/// Makes a module that segments were cut from the module of one that is compiled. Dims keep their
/// symbols; what they must satisfy is left to whoever binds the whole.
void keep_segment(Module& module, const Segment& segment);

}  // namespace dyn::graph
