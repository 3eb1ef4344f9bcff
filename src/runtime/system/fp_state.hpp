#pragma once
// The floating-point environment of kernels.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dyn::runtime {

/// Rounding to nearest, exceptions masked, denormals kept, whatever the host has set for its
/// threads, so that every thread that works on a run gives the same bits. The host's setting comes
/// back at the end of the scope.
class DefaultFloatingPoint {
 public:
#if defined(__x86_64__)
  DefaultFloatingPoint() noexcept : before_(_mm_getcsr()) {
    if (before_ != default_mxcsr) _mm_setcsr(default_mxcsr);
  }
  ~DefaultFloatingPoint() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned default_mxcsr = 0x1f80;
  unsigned before_;
#else
  DefaultFloatingPoint() noexcept {}
#endif

 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
};

}  // namespace dyn::runtime
