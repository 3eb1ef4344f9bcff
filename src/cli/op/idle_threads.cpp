// Waits until other threads are idle, as /proc shows it: spinning threads disturb whatever is timed
// after them.

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "src/cli/op/peer_process.hpp"

namespace dyn::cli {
namespace {

constexpr int idle_checks = 3;  // a yielding thread may look asleep once
constexpr int most_checks = 600;
constexpr int pause_microseconds = 500;

bool is_running(const std::string& stat_file) {
  std::ifstream file(stat_file);
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the name may hold anything
  return name_end != std::string::npos && name_end + 2 < line.size() && line[name_end + 2] == 'R';
}

bool any_running(pid_t process, pid_t except) {
  const std::string folder = fmt::format("/proc/{}/task", process);
  DIR* tasks = opendir(folder.c_str());
  if (tasks == nullptr) return false;
  bool running = false;
  while (const dirent* entry = readdir(tasks)) {
    if (entry->d_name[0] == '.' || std::atoi(entry->d_name) == except) continue;
    running = running || is_running(fmt::format("{}/{}/stat", folder, entry->d_name));
  }
  closedir(tasks);
  return running;
}

void wait_until_none_runs(pid_t process, pid_t except) {
  for (int checks = 0, idle = 0; checks < most_checks && idle < idle_checks; ++checks) {
    idle = any_running(process, except) ? 0 : idle + 1;
    if (idle < idle_checks) usleep(pause_microseconds);
  }
}

}  // namespace

void PeerProcess::wait_until_idle() const {
  if (alive()) wait_until_none_runs(process_, 0);
}

void wait_until_helpers_idle() { wait_until_none_runs(getpid(), gettid()); }

}  // namespace dyn::cli
