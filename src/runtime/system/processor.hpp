#pragma once
// Which processor a thread runs on. The system may wake a thread on the processor of the one that
// woke it, and leave both there for tens of milliseconds: too long for threads that share a stage
// of microseconds.

#if defined(__linux__)
#include <sched.h>
#endif

namespace dyn::runtime {

inline constexpr int unknown_processor = -1;

inline int current_processor() noexcept {
#if defined(__linux__)
  return sched_getcpu();
#else
  return unknown_processor;
#endif
}

/// Moves the calling thread away from `avoided`, where it is there and may run elsewhere. Where it
/// may run stays as it was.
inline void leave_processor([[maybe_unused]] int avoided) noexcept {
#if defined(__linux__)
  if (avoided < 0 || avoided >= CPU_SETSIZE || sched_getcpu() != avoided) return;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<unsigned>(avoided), &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

}  // namespace dyn::runtime
