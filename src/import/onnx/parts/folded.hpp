#pragma once
// Arithmetic that is done when a model is imported.

#include "src/import/onnx/node_context.hpp"

namespace dyn::onnx {

/// Gives the result of an arithmetic operator whose operands are f32 constants, where it has no
/// more elements than they have, and no two roundings, or at most 64 elements; and of a cast of
/// narrow integer constants to f32. False where it is another operator, or the operands are others.
bool give_folded_floats(NodeContext& node);

/// Places along one axis.
struct PlacesAlong {
  std::int64_t start, count, step;
};

/// Gives the part of a constant of floats that lies at these places, one for each axis, as a
/// constant. False where the input is another or the part is large: it stays a view of it then.
bool give_folded_part(NodeContext& node, const std::vector<PlacesAlong>& places);

/// Gives constants of floats, put side by side along an axis, as one. False where an input is
/// another, or they do not fit together, or are large.
bool give_folded_concat(NodeContext& node, int axis);

}  // namespace dyn::onnx
