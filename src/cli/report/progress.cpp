#include "src/cli/report/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "src/base/clock.hpp"

namespace dyn::cli {
namespace {

constexpr std::size_t usual_columns = 80;

std::size_t terminal_columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : usual_columns;
}

/// A byte of UTF-8 that goes on with a character.
bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

std::string progress_line(std::string_view text, std::size_t columns) {
  constexpr std::string_view rest = "...";
  std::string line(text);
  std::ranges::replace_if(line, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  const auto width = [&] {
    return line.size() - static_cast<std::size_t>(std::ranges::count_if(line, goes_on));
  };
  const std::size_t room = columns > 0 ? columns - 1 : 0;
  if (width() <= room) return line;
  while (!line.empty() && width() + rest.size() > room) {
    while (line.size() > 1 && goes_on(line.back())) line.pop_back();
    line.pop_back();
  }
  return line + std::string(rest.substr(0, room));
}

std::string load_line(std::string_view model, const LoadProgress& progress) {
  constexpr std::int64_t mb = 1'000'000;
  if (progress.total <= 0) return fmt::format("loading {}: {}", model, progress.stage);
  if (progress.stage == "weights" && progress.total >= mb)
    return fmt::format("loading {}: {}, {} of {} MB", model, progress.stage, progress.done / mb,
                       progress.total / mb);
  return fmt::format("loading {}: {}, {} of {}", model, progress.stage, progress.done,
                     progress.total);
}

void show_progress(const std::string& text, Pace pace) {
  constexpr std::chrono::milliseconds soon{100};
  static Clock::time_point last;
  if (isatty(STDERR_FILENO) == 0) return;
  if (pace == Pace::frequent) {
    const Clock::time_point now = Clock::now();
    if (now - last < soon) return;
    last = now;
  }
  fmt::print(stderr, "\r\033[K{}", progress_line(text, terminal_columns()));
  std::fflush(stderr);
}

void show_note(const std::string& text) {
  show_progress("");
  fmt::print(stderr, "dynrun: note: {}\n", text);
}

}  // namespace dyn::cli
