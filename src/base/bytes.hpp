#pragma once
// Sizes in bytes that layouts and costs count in.

#include <cstdint>

namespace dyn {

inline constexpr std::int64_t float_bytes = sizeof(float);
inline constexpr std::int64_t line_bytes = 64;  ///< a line of a cache
inline constexpr std::int64_t line_floats = line_bytes / float_bytes;

}  // namespace dyn
