#pragma once
// Loops whose conditions compare a counter with a size: the number of their steps is a size.

#include <functional>
#include <optional>
#include <unordered_map>

#include "graph/ir/builder.hpp"

namespace dyn::onnx {

/// A value of a loop's body: `first` in the first step, and `by` more in each that follows.
struct Counter {
  std::int64_t first = 0, by = 1;
};
using Counters = std::unordered_map<graph::ValueId, Counter>;

/// What the end of a loop depends on.
struct LoopEnd {
  const graph::Builder &body, &outside;
  graph::DimTable& dims_of_body;
  graph::ValueId goes_on, begins;  ///< the conditions, in the body after each step, and outside
  bool begins_always;              ///< the latter is known to hold
  const Counters& counters;
  /// A dim of the body outside.
  std::function<std::optional<graph::Dim>(graph::Dim)> outside_of;
};

/// The integer that is added to a value of the body, which may be another value with another dtype;
/// nothing where it follows in another way.
std::optional<std::int64_t> growth(const graph::Builder& body, graph::ValueId before,
                                   graph::ValueId after);

/// The number of steps, a dim of the graph outside; nothing where a condition is another one.
std::optional<graph::Dim> counted_steps(const LoopEnd& end);

}  // namespace dyn::onnx
