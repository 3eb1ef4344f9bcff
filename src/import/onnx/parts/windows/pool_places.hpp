#pragma once
// The places of the greatest elements of windows.

#include "src/import/onnx/parts/windows/sliding_windows.hpp"

namespace dyn::onnx {

/// Gives MaxPool's second output: for each result its first element's index in the flattened input;
/// the axes of the windows in row-major order, or column-major.
void give_places(NodeContext& node, const SlidingWindows& windows, const std::vector<Dim>& extents,
                 bool row_major);

}  // namespace dyn::onnx
