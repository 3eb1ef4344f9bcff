#pragma once

#include <cstdint>

namespace dyn::ptx::emulation {

/// Memory and registers that nobody has written hold this: a quiet NaN that is easy to recognise,
/// as f32 and as each half of f64, its upper half as f16 and bf16; as an integer it is far out of
/// any range.
inline constexpr std::uint32_t poison_word = 0x7FEDDEADu;

}  // namespace dyn::ptx::emulation
