#pragma once
// What the system tells about the CPU: its name, its caches, its processors.

#include <cstdint>
#include <string>
#include <vector>

namespace dyn::cpu {

/// A data or unified cache.
struct Cache {
  int level = 0;
  bool unified = false;
  std::int64_t bytes = 0;
};

/// The caches that CPU 0 uses, from the nearest on; empty where the system does not tell. sysfs
/// says what a virtual machine really has, where CPUID may tell of the whole socket.
std::vector<Cache> cpu_caches();

/// Cores under the CPUs that this process may run on: those that share one count once. Where the
/// system does not tell, its CPUs.
int cpu_cores();

/// A line of /proc/cpuinfo, such as "model name" or "flags", of the first CPU; empty where there is
/// none.
std::string cpu_info(const std::string& key);

/// The CPU's model name.
std::string cpu_name();

/// Processors that this process may run on (its affinity mask); at least 1.
int usable_processors();

}  // namespace dyn::cpu
