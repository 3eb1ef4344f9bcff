#pragma once
// The clock that measures how long something takes.

#include <chrono>

namespace dyn {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace dyn
