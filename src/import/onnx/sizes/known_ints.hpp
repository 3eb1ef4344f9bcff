#pragma once
// Integers that shape arithmetic has made, as tensors: their dims, and the same elements in another
// order.

#include <span>
#include <vector>

#include "src/import/onnx/operand.hpp"

namespace dyn::onnx {

/// [] of a scalar, [n] of a list.
std::vector<std::int64_t> dims_of(const KnownInts& ints);

/// The same elements in row-major order. `dims` must have as many.
KnownInts with_dims(KnownInts ints, std::vector<std::int64_t> dims);

/// Along each axis the elements at these places, which must be within the dims.
KnownInts taken(const KnownInts& ints, std::span<const std::vector<std::int64_t>> places);

/// Axis i is axis perm[i] of `ints`.
KnownInts transposed(const KnownInts& ints, std::span<const std::int64_t> perm);

}  // namespace dyn::onnx
