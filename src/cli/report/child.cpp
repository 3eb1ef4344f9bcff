#include "src/cli/report/child.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

[[noreturn]] void child_error(const std::string& program, const std::string& problem) {
  throw Error(ErrorKind::device, fmt::format("{}: {}", program, problem));
}

pid_t start(const std::vector<std::string>& words, int output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -error;
}

std::string read_all(int input) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t bytes = read(input, buffer.data(), buffer.size());
    if (bytes > 0)
      text.append(buffer.data(), static_cast<std::size_t>(bytes));
    else if (bytes == 0 || errno != EINTR)
      return text;
  }
}

}  // namespace

std::string output_of(const std::vector<std::string>& words) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) child_error(words[0], std::strerror(errno));
  const pid_t child = start(words, ends[1]);
  close(ends[1]);
  const std::string text = child > 0 ? read_all(ends[0]) : std::string();
  close(ends[0]);
  if (child < 0) child_error(words[0], std::strerror(-child));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status))
    child_error(words[0], fmt::format("was ended by signal {}", WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    child_error(words[0], fmt::format("exited with code {}", WEXITSTATUS(status)));
  return text;
}

}  // namespace dyn::cli
