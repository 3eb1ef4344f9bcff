#include "src/cli/op/peer_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

namespace dyn::cli {
namespace {

constexpr int protocol_version = 1;
constexpr int longest_silence_ms = 300'000;  // packing and running gigabytes takes a while

// Settings of the libraries' own thread pools. Their threads spin for no longer than the pause
// between slices; within a slice, where one region follows the other at once, that changes nothing.
// Values that the user has set stay.
void add_setting(std::vector<std::string>& environment, const char* name,
                 const std::string& value) {
  if (getenv(name) == nullptr) environment.push_back(fmt::format("{}={}", name, value));
}

std::vector<std::string> peer_environment(int threads) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "OMP_NUM_THREADS=", 16) != 0) environment.emplace_back(*entry);
  }
  environment.push_back(fmt::format("OMP_NUM_THREADS={}", threads));
  add_setting(environment, "KMP_BLOCKTIME", "10");
  add_setting(environment, "OPENBLAS_THREAD_TIMEOUT", "24");  // 2^24 cycles: some milliseconds
  return environment;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

pid_t spawn(const PeerSpec& spec, int threads, int input, int output) {
  std::vector<std::string> words = spec.command, environment = peer_environment(threads);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0].c_str(), &actions, &attributes,
                                 pointers(words).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? child : -error;
}

std::optional<double> parse_seconds(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || (end != text.data() + text.size() && *end != ' ') || !(value > 0))
    return std::nullopt;
  return value;
}

}  // namespace

PeerProcess::PeerProcess(PeerSpec spec, int threads) : spec_(std::move(spec)) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that died is noticed by the failed write
  start(threads);
  if (!alive()) return;
  const std::optional<std::string> answer =
      ask(fmt::format("hello {} threads={}", protocol_version, threads));
  if (!answer) return;
  if (answer->starts_with("ok"))
    version_ = answer->size() > 3 ? answer->substr(3) : spec_.name;
  else
    fail(answer->starts_with("no ") ? answer->substr(3)
                                    : fmt::format("does not speak the protocol: \"{}\"", *answer));
}

PeerProcess::~PeerProcess() { end(false); }

void PeerProcess::start(int threads) {
  std::array<int, 2> down = {-1, -1}, up = {-1, -1};
  if (pipe2(down.data(), O_CLOEXEC) != 0) return fail(std::strerror(errno));
  to_ = down[1];
  if (pipe2(up.data(), O_CLOEXEC) != 0) {
    close(down[0]);
    return fail(std::strerror(errno));
  }
  from_ = up[0];
  process_ = spawn(spec_, threads, down[0], up[1]);
  close(down[0]);
  close(up[1]);
  if (process_ < 0) fail(fmt::format("{}: {}", spec_.command[0], std::strerror(-process_)));
}

bool PeerProcess::write_line(const std::string& line) {
  const std::string text = line + '\n';
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes = write(to_, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    done += static_cast<std::size_t>(bytes);
  }
  return true;
}

std::optional<std::string> PeerProcess::read_line() {
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd ready{from_, POLLIN, 0};
    const int count = poll(&ready, 1, longest_silence_ms);
    if (count < 0 && errno == EINTR) continue;
    std::array<char, 4096> part;
    const ssize_t bytes = count > 0 ? read(from_, part.data(), part.size()) : 0;
    if (bytes <= 0) return std::nullopt;
    buffer_.append(part.data(), static_cast<std::size_t>(bytes));
  }
}

std::optional<std::string> PeerProcess::ask(const std::string& line) {
  if (!alive()) return std::nullopt;
  std::optional<std::string> answer = write_line(line) ? read_line() : std::nullopt;
  if (!answer) {
    fail("");
    return std::nullopt;
  }
  if (answer->starts_with("error")) {
    fail(answer->size() > 6 ? answer->substr(6) : "failed without a reason");
    return std::nullopt;
  }
  return answer;
}

bool PeerProcess::prepare(const std::string& problem_line, std::string& reason) {
  const std::optional<std::string> answer = ask(problem_line);
  if (!answer) return false;
  if (*answer == "ok") return true;
  if (answer->starts_with("no "))
    reason = answer->substr(3);
  else
    fail(fmt::format("answered \"{}\" to a problem", *answer));
  return false;
}

std::optional<double> PeerProcess::time(double slice_seconds) {
  const std::optional<std::string> answer = ask(fmt::format("time {}", slice_seconds));
  if (!answer) return std::nullopt;
  const std::optional<double> seconds =
      answer->starts_with("ok ") ? parse_seconds(answer->substr(3)) : std::nullopt;
  if (!seconds) fail(fmt::format("answered \"{}\" to a slice", *answer));
  return seconds;
}

void PeerProcess::done() { ask("done"); }

void PeerProcess::fail(const std::string& problem) {
  problem_ = problem;
  end(true);
}

/// The end of its input tells a sound peer to leave. A peer that failed is killed; where it had
/// died before, its status says how.
void PeerProcess::end(bool at_once) {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  if (process_ <= 0) return;
  int status = 0;
  pid_t ended = waitpid(process_, &status, WNOHANG);
  for (int patience = 0; ended == 0 && patience < (at_once ? 100 : 2000); ++patience) {
    usleep(1000);
    ended = waitpid(process_, &status, WNOHANG);
  }
  if (ended == 0) {
    kill(process_, SIGKILL);
    waitpid(process_, &status, 0);
    if (problem_.empty()) problem_ = "stopped answering";
  }
  process_ = -1;
  if (!problem_.empty()) return;
  if (WIFSIGNALED(status))
    problem_ = fmt::format("was ended by signal {}", WTERMSIG(status));
  else
    problem_ = fmt::format("exited with code {}", WEXITSTATUS(status));
}

}  // namespace dyn::cli
