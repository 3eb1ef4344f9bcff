#pragma once
// Marked elements around a kernel's output detect writes outside of it.

#include <cstddef>
#include <span>

namespace dyn::cpu::testing {

inline constexpr float guard = -12345.5f;
inline constexpr std::size_t guard_elements = 64;  ///< at each end

/// False where something wrote before or behind the elements between the guards.
inline bool guards_intact(std::span<const float> guarded) {
  for (std::size_t i = 0; i < guard_elements; ++i) {
    if (guarded[i] != guard || guarded[guarded.size() - 1 - i] != guard) return false;
  }
  return true;
}

}  // namespace dyn::cpu::testing
