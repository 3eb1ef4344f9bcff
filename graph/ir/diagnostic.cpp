#include "graph/ir/diagnostic.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/op.hpp"

namespace dyn::graph {

namespace {

/// A message shows at most so many characters of a source line.
constexpr std::size_t max_shown_characters = 120;

/// Bytes of the UTF-8 sequence that `text` begins with; 0 where there is none. Overlong forms count
/// as sequences.
std::size_t sequence_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80    ? 1
                             : first >= 0xf8 ? 0
                             : first >= 0xf0 ? 4
                             : first >= 0xe0 ? 3
                             : first >= 0xc0 ? 2
                                             : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

/// Keeps a message on one line, free of control characters and of bytes that are no UTF-8, whatever
/// the source holds.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const bool control = static_cast<unsigned char>(text.front()) < 0x20 || text.front() == 0x7f;
    out += length == 0 ? "?" : control ? " " : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string line_and_caret(std::string_view line, int column) {
  const std::size_t target =
      std::min<std::size_t>(static_cast<std::size_t>(std::max(column, 1) - 1), line.size());
  const std::size_t first =
      line.size() <= max_shown_characters || target < max_shown_characters / 2
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
  if (location.column <= 0)
    return fmt::format("{}: {}: {}", source, place_of(module, location), message);
  const std::string head =
      fmt::format("{}:{}:{}: {}", source, location.line, location.column, message);
  if (!module.source_text) return head;
  return head + "\n" + line_and_caret(module.source_text->line(location.line), location.column);
}

std::string place_of(const Module& module, SourceLocation location) {
  constexpr std::string_view mark = "  # from ";
  if (location.line <= 0) return {};
  const std::string_view line =
      module.source_text ? module.source_text->line(location.line) : std::string_view();
  const std::size_t comment = line.rfind(mark);
  return comment == std::string_view::npos ? fmt::format("line {}", location.line)
                                           : printable(line.substr(comment + mark.size()));
}

std::string node_place(const Module& module, const Node& node) {
  constexpr std::string_view of_text = "line ";
  const std::string place = place_of(module, node.location);
  if (!place.empty() && !place.starts_with(of_text)) return place;
  const std::string own =
      fmt::format("{} '{}'", node.op->name, module.value(node.outputs.front()).name);
  return place.empty() ? own : fmt::format("{} ({})", own, place);
}

void fail_at(const Module& module, SourceLocation location, const std::string& message) {
  throw Error(ErrorKind::model, format_at(module, location, message));
}

}  // namespace dyn::graph
