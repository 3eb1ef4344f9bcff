#include "src/peak/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

namespace dyn::peak {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

int usable_cpus() { return static_cast<int>(allowed_cpus().size()); }

double timed_together(int threads, const std::function<void(int)>& prepare,
                      const std::function<void(int)>& work) {
  const std::vector<int> cpus = allowed_cpus();
  const auto count = static_cast<std::size_t>(threads);
  std::vector<Clock::time_point> starts(count), ends(count);
  std::barrier start_line(threads);
  std::vector<std::thread> team;
  for (std::size_t thread = 0; thread < count; ++thread) {
    team.emplace_back([&, thread] {
      pin_to(cpus[thread % cpus.size()]);
      prepare(static_cast<int>(thread));
      start_line.arrive_and_wait();
      starts[thread] = Clock::now();
      work(static_cast<int>(thread));
      ends[thread] = Clock::now();
    });
  }
  for (std::thread& member : team) member.join();
  const auto first = *std::min_element(starts.begin(), starts.end());
  const auto last = *std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(last - first).count();
}

}  // namespace dyn::peak
