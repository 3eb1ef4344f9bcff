#pragma once
// A factor that spreads words over all 64 bits.

#include <cstdint>

namespace dyn::runtime {

inline constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;  ///< 2^64 over the golden ratio, odd

}  // namespace dyn::runtime
