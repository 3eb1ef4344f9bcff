#include "targets/cpu/x86/cpu_info.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

namespace dyn::cpu {

std::vector<Cache> cpu_caches() {
  std::vector<Cache> caches;
  for (int index = 0;; ++index) {
    const std::string directory = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::string type;
    if (!(std::ifstream(directory + "type") >> type)) return caches;
    Cache cache{.unified = type == "Unified"};
    std::int64_t kilobytes = 0;
    std::ifstream(directory + "level") >> cache.level;
    std::ifstream(directory + "size") >> kilobytes;  // "32768K"
    cache.bytes = kilobytes << 10;
    if (type != "Instruction" && cache.bytes > 0) caches.push_back(cache);
  }
}

int cpu_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    return static_cast<int>(std::thread::hardware_concurrency());
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string directory = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    int package = 0, core = 0;
    if (!(std::ifstream(directory + "physical_package_id") >> package) ||
        !(std::ifstream(directory + "core_id") >> core))
      return CPU_COUNT(&allowed);
    cores.emplace(package, core);
  }
  return static_cast<int>(cores.size());
}

std::string cpu_info(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

std::string cpu_name() {
  const std::string name = cpu_info("model name");
  return name.empty() ? "x86-64 CPU" : name;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace dyn::cpu
