#pragma once
// Bodies whose nodes become nodes of the graph around them, once for each step.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// All steps of all loops that are unrolled, together.
inline constexpr std::int64_t most_unrolled_nodes = 100'000;

const GraphProto& body_of(const NodeContext& context);

/// The body's inputs by name. Throws Error(model) where there are more or fewer values.
Operands bound(const NodeContext& context, const GraphProto& body, const OperandList& values);

/// Throws Error(unsupported) where there are too many nodes with this step.
void count_step(NodeContext& context, const GraphProto& body, GraphState& state);

/// While it lives, equal constants become one weight: loops in the body repeat theirs.
class Unrolling {
 public:
  explicit Unrolling(GraphState& state) : state_(state) { ++state_.unrolled_loops; }
  ~Unrolling() {
    if (--state_.unrolled_loops == 0) state_.weights_in_loops.clear();
  }
  Unrolling(const Unrolling&) = delete;
  Unrolling& operator=(const Unrolling&) = delete;

 private:
  GraphState& state_;
};

}  // namespace dyn::onnx
