#include "graph/diagnostic.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::graph {

namespace {

/// Characters of a source line that a message shows at most.
constexpr std::size_t max_shown_characters = 120;

/// Line number `line` (from 1) of `text`, without its line end; empty where there is none.
std::string_view line_of(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// Keeps a message on one line and free of control characters, whatever the source holds.
std::string printable(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

std::string line_and_caret(std::string_view line, int column) {
  const std::size_t target = std::min<std::size_t>(static_cast<std::size_t>(std::max(column, 1) - 1), line.size());
  const std::size_t first = line.size() <= max_shown_characters || target < max_shown_characters / 2
                                ? 0
                                : std::min(target - max_shown_characters / 2, line.size() - max_shown_characters);
  const std::string before = first > 0 ? "..." : "";
  const std::string after = line.size() - first > max_shown_characters ? "..." : "";
  return before + printable(line.substr(first, max_shown_characters)) + after + "\n" +
         std::string(before.size() + target - first, ' ') + "^";
}

}  // namespace

std::string format_at(const Module& module, SourceLocation location, const std::string& message) {
  const std::string source = module.source_name.empty() ? "<module>" : module.source_name;
  if (location.line <= 0) return fmt::format("{}: {}", source, message);
  const std::string head = fmt::format("{}:{}:{}: {}", source, location.line, location.column, message);
  if (!module.source_text) return head;
  return head + "\n" + line_and_caret(line_of(*module.source_text, location.line), location.column);
}

void fail_at(const Module& module, SourceLocation location, const std::string& message) {
  throw Error(ErrorKind::model, format_at(module, location, message));
}

}  // namespace dyn::graph
