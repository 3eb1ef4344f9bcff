#pragma once
// What a command is doing, for whoever waits at a terminal.

#include <string>
#include <string_view>

namespace dyn::cli {

/// A line on stderr, only where that is a terminal; the next one replaces it. An empty text clears
/// it: so does every command before it prints, and when it ends or fails.
void show_progress(const std::string& text);
/// "dynrun: note: ..." on stderr.
void show_note(const std::string& text);

/// The text as it fits in a line of so many columns without filling it, so that it can be cleared:
/// cut, with "..." in place of the rest, and with "?" in place of control characters.
std::string progress_line(std::string_view text, std::size_t columns);

}  // namespace dyn::cli
