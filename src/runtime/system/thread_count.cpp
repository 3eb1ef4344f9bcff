#include "src/runtime/system/thread_count.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "src/runtime/system/errors.hpp"
#include "targets/cpu/x86/cpu_info.hpp"

namespace dyn::runtime {
namespace {

/// CPUs of a quota and its period; 0 where there is none ("max", or -1).
double quotient(const std::string& quota, const std::string& period) {
  std::istringstream quota_text(quota), period_text(period);
  double quota_us = 0, period_us = 0;
  if (!(quota_text >> quota_us) || !(period_text >> period_us)) return 0;
  return quota_us > 0 && period_us > 0 ? quota_us / period_us : 0;
}

std::string first_word(std::ifstream file) {
  std::string word;
  file >> word;
  return word;
}

double directory_limit(const std::string& directory) {
  std::ifstream v2(directory + "/cpu.max");
  std::string quota, period;
  if (v2 >> quota >> period) return quotient(quota, period);
  return quotient(first_word(std::ifstream(directory + "/cpu.cfs_quota_us")),
                  first_word(std::ifstream(directory + "/cpu.cfs_period_us")));
}

/// The limit of a group and of all its ancestors up to `root`. A path that is not visible in this
/// mount counts by its ancestors alone.
double path_limit(const std::string& root, std::string path) {
  double limit = 0;
  for (;;) {
    const double here = directory_limit(root + path);
    if (here > 0) limit = limit > 0 ? std::min(limit, here) : here;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return limit;
    path.resize(slash);
  }
}

std::string file_text(const char* path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

double cgroup_cpus(const std::string& cgroup_root, const std::string& membership) {
  double limit = 0;
  std::istringstream lines(membership);
  for (std::string line;
       std::getline(lines, line);) {  // "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1)
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && ("," + controllers + ",").find(",cpu,") == std::string::npos)
      continue;
    const std::string root = controllers.empty() ? cgroup_root : cgroup_root + "/" + controllers;
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    const double here = path_limit(root, path);
    if (here > 0) limit = limit > 0 ? std::min(limit, here) : here;
  }
  return limit;
}

int lent_threads(const Executor& executor) {
  const int count = executor.concurrency();
  if (count >= 0 && count < most_threads) return count;
  user_error(
      fmt::format("Executor::concurrency() is {}; it must be in 0..{}", count, most_threads - 1));
}

int default_threads() {
  int threads = cpu::usable_processors();
  const double quota = cgroup_cpus("/sys/fs/cgroup", file_text("/proc/self/cgroup"));
  if (quota > 0) threads = std::min(threads, std::max(1, static_cast<int>(std::ceil(quota))));
  return threads;
}

}  // namespace dyn::runtime
