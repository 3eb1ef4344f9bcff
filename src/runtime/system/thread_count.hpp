#pragma once
// How many threads this process may use.

#include <string>

#include "dyn/executor.hpp"

namespace dyn::runtime {

/// Threads of one run, at most.
inline constexpr int most_threads = 1024;

/// The smaller of the affinity mask's size and the cgroup's CPU quota rounded up; at least 1.
int default_threads();
/// The executor's concurrency(). Throws Error(user) for an impossible one.
int lent_threads(const Executor& executor);

/// CPUs that the quota files under `cgroup_root` allow for this process, whose /proc/self/cgroup is
/// `membership` (cgroup v2: cpu.max; v1: cpu.cfs_quota_us over cpu.cfs_period_us); 0: no limit.
/// Ancestors' limits hold as well.
double cgroup_cpus(const std::string& cgroup_root, const std::string& membership);

}  // namespace dyn::runtime
