#pragma once
// 16-bit floats by definition.

#include <cstdint>

#include "dyn/dtype.hpp"

namespace dyn::testing {

/// `dtype`: f16 or bf16.
double half_value(DType dtype, std::uint16_t bits);
/// Rounded to nearest even.
std::uint16_t half_bits(DType dtype, double value);

}  // namespace dyn::testing
