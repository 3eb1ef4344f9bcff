#pragma once
// Integers that shape arithmetic has made, as tensors: their dims, and the same elements in another
// order.

#include <span>
#include <vector>

#include "src/import/onnx/operand.hpp"

namespace dyn::onnx {

/// [] for a scalar, [n] for a list.
std::vector<std::int64_t> dims_of(const KnownInts& ints);

/// The same elements in row-major order. `dims` must have as many.
KnownInts with_dims(KnownInts ints, std::vector<std::int64_t> dims);

/// Takes the elements at these places of each axis; the places must be within the dims.
KnownInts taken(const KnownInts& ints, std::span<const std::vector<std::int64_t>> places);

/// Permutes axes: axis i is axis perm[i] of `ints`.
KnownInts transposed(const KnownInts& ints, std::span<const std::int64_t> perm);

}  // namespace dyn::onnx
