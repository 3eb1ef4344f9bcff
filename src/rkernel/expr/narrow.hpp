#pragma once
// f32 to the floats of 16 bits, rounded to nearest even, and back.

#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::rkernel {

/// NaN stays NaN.
std::uint16_t to_bf16(float value) noexcept;
/// Numbers that are too large become infinite; small values are denormal, not 0.
std::uint16_t to_f16(float value) noexcept;

/// True where convert() supports the pair of dtypes.
bool converts(DType from, DType to) noexcept;
/// `count` elements from `in` to `out`: a copy where the dtypes are the same.
void convert(DType from, const void* in, DType to, void* out, std::int64_t count);

}  // namespace dyn::rkernel
