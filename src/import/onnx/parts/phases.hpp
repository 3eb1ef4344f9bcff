#pragma once
// Transposed convolutions as convolutions of stride 1.

#include <cstdint>

#include "src/import/onnx/parts/tensor_expr.hpp"

namespace dyn::onnx {

/// A transposed convolution without dilations; along three axes without groups, and of filters that
/// are constant. Along each axis:
struct TransposedConv {
  Integers taps;     ///< of the filters
  Integers strides;  ///< of the result
  std::int64_t groups = 1;
  Dims begin, size;  ///< the part of the result that is wanted, where its first place is that of
                     ///< the first tap at the first element
};

/// x [N, extents..., C] and the node's input 1, filters [C, O / groups, taps...], give [N, size...,
/// O].
///
/// Results whose places leave one rest by the stride (a phase: one rest for each axis) take every
/// stride-th tap alone. A phase is a convolution of stride 1 of x by these taps in reverse, so that
/// no product has a zero between the elements of x as a factor. Where the strides divide the taps
/// the phases are filters of one convolution.
ValueId conv_by_phases(NodeContext& node, ValueId x, const TransposedConv& conv);

}  // namespace dyn::onnx
