#pragma once
// Waiting without sleeping, for a bounded time.

#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dyn::runtime {

/// The longest that a thread spins between the stages of a run.
inline constexpr std::chrono::microseconds spin_limit{50};

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Spins until `done()`; false where that took longer than spin_limit.
template <class Done>
bool spin_until(Done&& done) {
  constexpr int tries_per_look_at_the_clock = 32;
  const auto end = std::chrono::steady_clock::now() + spin_limit;
  do {
    for (int i = 0; i < tries_per_look_at_the_clock; ++i) {
      if (done()) return true;
      cpu_relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace dyn::runtime
