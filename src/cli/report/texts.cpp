#include "src/cli/report/texts.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graph/text/lexer.hpp"

namespace dyn::cli {
namespace {

/// In quotes, and cut between letters of UTF-8.
std::string quoted(const std::string& text) {
  constexpr std::size_t longest = 40;
  if (text.size() <= longest) return graph::quote_text(text);
  std::size_t end = longest;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return graph::quote_text(text.substr(0, end)) + "...";
}

}  // namespace

std::string shown(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 8;
  std::string line;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i)
    line += (i > 0 ? ", " : "") + quoted(texts[i]);
  return texts.size() > most ? fmt::format("{}, and {} more", line, texts.size() - most) : line;
}

}  // namespace dyn::cli
