#pragma once
// How many threads this process may use.

#include <string>

namespace dyn::runtime {

/// The smaller of the affinity mask's size and the cgroup's CPU quota rounded up; at least 1.
int default_threads();

/// CPUs that the quota files under `cgroup_root` allow for this process, whose /proc/self/cgroup is
/// `membership` (cgroup v2: cpu.max; v1: cpu.cfs_quota_us over cpu.cfs_period_us); 0: no limit.
/// Ancestors' limits hold as well.
double cgroup_cpus(const std::string& cgroup_root, const std::string& membership);

}  // namespace dyn::runtime
