#pragma once
// Threads that start a piece of work at the same moment, each on a CPU of its own.

#include <functional>

namespace dyn::peak {

/// CPUs that this process may use.
int usable_cpus();

/// Seconds from the common start until the last of `threads` threads has finished work(thread).
/// Thread t runs on the t-th usable CPU; `prepare(thread)` runs there first, untimed.
double timed_together(int threads, const std::function<void(int)>& prepare,
                      const std::function<void(int)>& work);

}  // namespace dyn::peak
