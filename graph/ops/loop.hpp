#pragma once
// The operands and results of `loop`, and what they are in its body.

#include <cstddef>

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// A node's operands are: the number of steps, the condition, values that go on from step to step
/// (carried), tensors of which each step gets a slice (scanned), and values that all steps share
/// (captured). The body has an input for each of them, the number of the step and the condition in
/// place of the first two. The node's results are the last carried values, and what each step has
/// made, stacked (collected); the body's outputs are the next condition where the loop is
/// conditional, then those.
struct LoopPlaces {
  std::size_t carried = 0, scanned = 0, captured = 0, collected = 0;
  bool conditional = false;

  static constexpr std::size_t steps = 0, condition = 1, first = 2;
  std::size_t first_scanned() const { return first + carried; }
  std::size_t first_captured() const { return first_scanned() + scanned; }
  std::size_t inputs() const { return first_captured() + captured; }
  /// The body's.
  std::size_t first_output() const { return conditional ? 1 : 0; }
};

/// For a node with at least as many operands and results as its attributes say.
LoopPlaces loop_places(const Node& loop);

}  // namespace dyn::graph
