#pragma once
// Seeded random elements, by element index: any part of a tensor can be made in any order and on any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "dyn/dtype.hpp"

namespace dyn::runtime {

/// The stream of one weight.
std::uint64_t weight_seed(std::uint64_t seed, std::string_view key);

/// 1 / sqrt(fan-in). The fan-in is the product of all sizes but the last, so 1 for a vector: its elements are standard
/// normal, which keeps biases and gains asymmetric and the size of activations of the order of 1.
float normal_scale(std::span<const std::int64_t> shape);

/// Elements [first, first + count): f32 normal times `scale`, i8 uniform in [-127, 127], i32, i64 and bool 0 or 1 (indices that
/// every table with two rows has). Throws Error(unsupported) for f16 and bf16.
void fill_random(DType dtype, std::uint64_t seed, float scale, std::int64_t first, std::int64_t count, void* out);

}  // namespace dyn::runtime
