#pragma once
// Seeded random elements, by element index: any part of a tensor can be made in any order and on
// any thread.

#include <cstdint>
#include <span>
#include <string_view>

#include "dyn/dtype.hpp"

namespace dyn::runtime {

/// The stream of one weight.
std::uint64_t weight_seed(std::uint64_t seed, std::string_view key);

/// How the normal elements of a weight are spread.
struct NormalSpread {
  float mean = 0, scale = 1;
};

/// Tables and matrices: mean 0, scale 1 / sqrt(fan-in), where the fan-in is the product of all
/// sizes but the last. Vectors have no fan-in. With elements as large as its input's, a layer's
/// bias would soon hide what the input was, and every output would be the same, so vectors have
/// scale 0.1, around 1 for gains (the last part of the key is weight, gamma, gain or scale) and
/// around 0 for the others.
NormalSpread normal_spread(std::string_view key, std::span<const std::int64_t> shape);

/// Elements [first, first + count): floats normal, i8 uniform in [-127, 127], other integers and
/// bool 0 or 1 (indices that every table with two rows has). f16 and bf16 are those of f32,
/// rounded.
void fill_random(DType dtype, std::uint64_t seed, NormalSpread spread, std::int64_t first,
                 std::int64_t count, void* out);

}  // namespace dyn::runtime
