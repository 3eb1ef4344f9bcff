#include "tests/conformance/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::conformance {
namespace {

using Clock = std::chrono::steady_clock;

struct Child {
  std::size_t index = 0;
  pid_t id = 0;
  int output = -1;
  Clock::time_point deadline;
  std::string text;
  bool late = false;
};

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::device, fmt::format("{}: {}", what, std::strerror(errno)));
}

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(file, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

Child start(std::size_t index, double limit_seconds,
            const std::function<std::string(std::size_t)>& work) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("a pipe");
  const pid_t id = fork();
  if (id < 0) fail("a child process");
  if (id == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    write_all(ends[1], work(index));
    _exit(0);
  }
  close(ends[1]);
  return {index,
          id,
          ends[0],
          Clock::now() + std::chrono::duration_cast<Clock::duration>(
                             std::chrono::duration<double>(limit_seconds)),
          {},
          false};
}

/// False when all is read.
bool read_some(Child& child) {
  std::array<char, 4096> buffer;
  const ssize_t bytes = read(child.output, buffer.data(), buffer.size());
  if (bytes > 0) child.text.append(buffer.data(), static_cast<std::size_t>(bytes));
  return bytes > 0 || (bytes < 0 && errno == EINTR);
}

Ended end(const Child& child, double limit_seconds) {
  close(child.output);
  int status = 0;
  while (waitpid(child.id, &status, 0) < 0 && errno == EINTR) {}
  if (child.late) return {{}, fmt::format("no end within {:g} s", limit_seconds)};
  if (WIFSIGNALED(status))
    return {{}, fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))};
  if (WEXITSTATUS(status) != 0) return {{}, fmt::format("exit code {}", WEXITSTATUS(status))};
  return {child.text, {}};
}

void kill_late(std::vector<Child>& children) {
  for (Child& child : children) {
    if (child.late || Clock::now() < child.deadline) continue;
    child.late = true;
    kill(child.id, SIGKILL);
  }
}

int milliseconds_to_deadline(const std::vector<Child>& children) {
  Clock::duration least = std::chrono::seconds(1);
  for (const Child& child : children) least = std::min(least, child.deadline - Clock::now());
  return std::max(
      1, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(least).count()));
}

}  // namespace

void run_children(std::size_t count, int jobs, double limit_seconds,
                  const std::function<std::string(std::size_t)>& work,
                  const std::function<void(std::size_t, const Ended&)>& done) {
  std::vector<Child> children;
  for (std::size_t next = 0; next < count || !children.empty();) {
    const std::size_t most = next <= 1 && (next == 0 || !children.empty())
                                 ? 1
                                 : static_cast<std::size_t>(std::max(1, jobs));
    while (next < count && children.size() < most)
      children.push_back(start(next++, limit_seconds, work));
    std::vector<pollfd> waiting;
    for (const Child& child : children) waiting.push_back({child.output, POLLIN, 0});
    poll(waiting.data(), waiting.size(), milliseconds_to_deadline(children));
    for (std::size_t i = children.size(); i-- > 0;) {
      if (waiting[i].revents == 0 || read_some(children[i])) continue;
      const Child child = std::move(children[i]);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      done(child.index, end(child, limit_seconds));
    }
    kill_late(children);
  }
}

}  // namespace dyn::conformance
