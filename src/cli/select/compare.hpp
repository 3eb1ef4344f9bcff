#pragma once
// Tells whether two programs computed the same.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "dyn/tensor.hpp"

namespace dyn::cli {

/// Describes where two results of a matmul with sums of `terms` products differ by more than
/// another order of additions explains; none where they do not. A number that is not finite equals
/// nothing but itself. Bounds are relative to the root of the mean square of `expected`.
std::optional<std::string> difference(std::span<const float> expected,
                                      std::span<const float> actual, std::int64_t terms);

/// Fills an f32 tensor with NaN, so that elements which a program does not write show.
void poison(Tensor& tensor);

}  // namespace dyn::cli
