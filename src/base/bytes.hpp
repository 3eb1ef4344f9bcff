#pragma once
// Sizes in bytes by which layouts and costs count.

#include <cstdint>

namespace dyn {

inline constexpr std::int64_t float_bytes = sizeof(float);
inline constexpr std::int64_t line_bytes = 64;  ///< of a cache
inline constexpr std::int64_t line_floats = line_bytes / float_bytes;

}  // namespace dyn
