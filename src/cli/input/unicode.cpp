#include "src/cli/input/unicode.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dyn::cli {
namespace {

constexpr char32_t last_letter = 0x10FFFF;

bool is_letter(char32_t point) {
  return point <= last_letter && (point < 0xD800 || point > 0xDFFF);
}

/// Bytes of a letter's UTF-8.
std::size_t length_of(char32_t point) {
  return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

void append(std::string& text, char32_t point) {
  const std::size_t length = length_of(point);
  if (length == 1) {
    text += static_cast<char>(point);
    return;
  }
  const unsigned lead = 0xF00u >> length & 0xFFu;
  text += static_cast<char>(lead | point >> 6 * (length - 1));
  for (std::size_t left = length - 1; left-- > 0;)
    text += static_cast<char>(0x80u | (point >> 6 * left & 0x3Fu));
}

/// The length that the first byte of a letter tells; 0: it cannot be a first byte.
std::size_t length_after(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC0 || lead > 0xF7) return 0;
  return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

}  // namespace

std::optional<std::u32string> code_points_of(std::string_view utf8) {
  std::u32string points;
  while (!utf8.empty()) {
    const auto lead = static_cast<unsigned char>(utf8.front());
    const std::size_t length = length_after(lead);
    if (length == 0 || length > utf8.size()) return std::nullopt;
    char32_t point = length == 1 ? lead : lead & 0x7Fu >> length;
    for (const char byte : utf8.substr(1, length - 1)) {
      const auto bits = static_cast<unsigned char>(byte);
      if (bits >> 6 != 2) return std::nullopt;
      point = point << 6 | (bits & 0x3Fu);
    }
    if (!is_letter(point) || length_of(point) != length) return std::nullopt;
    points += point;
    utf8.remove_prefix(length);
  }
  return points;
}

std::optional<std::string> text_of_code_points(std::string_view bytes) {
  std::u32string points(bytes.size() / sizeof(char32_t), U'\0');
  std::memcpy(points.data(), bytes.data(), points.size() * sizeof(char32_t));
  while (!points.empty() && points.back() == U'\0') points.pop_back();
  std::string text;
  for (const char32_t point : points) {
    if (!is_letter(point)) return std::nullopt;
    append(text, point);
  }
  return text;
}

std::string without_nuls(std::string_view bytes) {
  while (!bytes.empty() && bytes.back() == '\0') bytes.remove_suffix(1);
  return std::string(bytes);
}

}  // namespace dyn::cli
