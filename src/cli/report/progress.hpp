#pragma once
// What a command is doing, for whoever waits at a terminal.

#include <string>
#include <string_view>

#include "dyn/options.hpp"

namespace dyn::cli {

enum class Pace {
  each,      ///< every line is shown
  frequent,  ///< one that comes soon after another such is not
};

/// A line on stderr, only where that is a terminal; the next one replaces it. An empty text clears
/// it: so does every command before it prints, and when it ends or fails. For one thread.
void show_progress(const std::string& text, Pace pace = Pace::each);
/// "loading a.onnx: compile, 3 of 120".
std::string load_line(std::string_view model, const LoadProgress& progress);
/// "dynrun: note: ..." on stderr.
void show_note(const std::string& text);

/// The text as it fits in a line of so many columns without filling it, so that it can be cleared:
/// cut, with "..." in place of the rest, and with "?" in place of control characters.
std::string progress_line(std::string_view text, std::size_t columns);

}  // namespace dyn::cli
