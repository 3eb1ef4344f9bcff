#include "graph/text/lexer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"

namespace dyn::graph {
namespace {

// The C library's classifications depend on the locale; these do not.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c); }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

/// The value of a hexadecimal digit; -1: it is none.
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

constexpr std::array<std::string_view, 7> reserved_words = {"return", "state", "offsets", "true",
                                                            "false",  "inf",   "nan"};
constexpr std::size_t shown_characters = 40;

/// Length of the longest prefix that is one name: letters, digits and `_`, in parts that dots join.
std::size_t name_length(std::string_view text) {
  if (text.empty() || !begins_name(text[0])) return 0;
  std::size_t length = 1;
  while (length < text.size()) {
    if (continues_name(text[length])) {
      ++length;
    } else if (text[length] == '.' && length + 1 < text.size() &&
               continues_name(text[length + 1])) {
      length += 2;
    } else {
      break;
    }
  }
  return length;
}

}  // namespace

bool is_reserved(std::string_view word) {
  return std::find(reserved_words.begin(), reserved_words.end(), word) != reserved_words.end();
}

bool is_operator_name(std::string_view name) {
  const std::size_t mark = name.find("::");
  if (mark == std::string_view::npos) return false;
  const std::string_view domain = name.substr(0, mark), inner = name.substr(mark + 2);
  return !domain.empty() && name_length(domain) == domain.size() && !inner.empty() &&
         begins_name(inner[0]) && name_length(inner) == inner.size();
}

bool can_name_dim(std::string_view word) {
  constexpr std::string_view others[] = {"_", "floordiv", "mod", "min", "max"};
  return !is_reserved(word) && std::ranges::find(others, word) == std::ranges::end(others);
}

std::string describe(const Token& token) {
  if (token.kind == TokenKind::End) return "the end of the file";
  if (token.kind == TokenKind::Newline) return "the end of the line";
  if (token.text.size() <= shown_characters) return fmt::format("`{}`", token.text);
  return fmt::format("`{}...`", token.text.substr(0, shown_characters));
}

std::string unquote(const Token& token) {
  std::string result;
  const std::string_view inner = token.text.substr(1, token.text.size() - 2);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == '\\' && inner[++i] == 'x') {
      result += static_cast<char>(hex_value(inner[i + 1]) * 16 + hex_value(inner[i + 2]));
      i += 2;
    } else {
      result += inner[i];
    }
  }
  return result;
}

std::string quote_name(std::string_view name) {
  return !name.empty() && name_length(name) == name.size() && !is_reserved(name) ? std::string(name)
                                                                                 : quote_text(name);
}

std::string quote_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (is_control(c))
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

Lexer::Lexer(const Module& module) : module_(module), text_(module.source_text->text()) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF")
    advance(3);  // a byte order mark, as some editors write it
  line_begin_ = position_;
}

char Lexer::peek(std::size_t ahead) const {
  return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
}

void Lexer::advance(std::size_t count) {
  position_ += count;
  steps_ += count;
}

Token Lexer::finish(TokenKind kind, std::size_t begin, SourceLocation location) const {
  return {kind, text_.substr(begin, position_ - begin), location};
}

void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') advance();
    } else if (c == '\n' && open_brackets_ > 0) {
      advance();
      ++line_;
      line_begin_ = position_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      advance();
    } else {
      return;
    }
  }
}

Token Lexer::next() {
  skip_blanks();
  const SourceLocation location = here();
  if (position_ == text_.size()) return finish(TokenKind::End, position_, location);
  const char c = text_[position_];
  if (c == '\n') {
    // Any number of blank lines and comments is one separator.
    const std::size_t begin = position_;
    while (peek() == '\n') {
      advance();
      ++line_;
      line_begin_ = position_;
      skip_blanks();
    }
    return finish(TokenKind::Newline, begin, location);
  }
  if (begins_name(c)) return name(location);
  if (is_digit(c)) return number(location);
  if (c == '"') return string(location);
  return symbol(location);
}

Token Lexer::name(SourceLocation location) {
  const std::size_t begin = position_;
  advance(name_length(text_.substr(position_)));
  if (peek() == ':' && peek(1) == ':' && begins_name(peek(2))) {  // of an operator
    advance(2);
    advance(name_length(text_.substr(position_)));
  }
  if (peek() == '.' && peek(1) != '.') {
    fail_at(module_, here(), "a name cannot end with a dot; letters, digits or `_` follow a dot");
  }
  return finish(TokenKind::Name, begin, location);
}

Token Lexer::number(SourceLocation location) {
  const std::size_t begin = position_;
  TokenKind kind = TokenKind::Integer;
  while (is_digit(peek())) advance();
  if (peek() == '.' && is_digit(peek(1))) {
    kind = TokenKind::Float;
    advance();
    while (is_digit(peek())) advance();
  }
  if (peek() == 'e' || peek() == 'E') {
    const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
    if (!is_digit(peek(1 + sign)))
      fail_at(module_, location, "the exponent of this number has no digits");
    kind = TokenKind::Float;
    advance(1 + sign);
    while (is_digit(peek())) advance();
  }
  if (continues_name(peek()) || (peek() == '.' && peek(1) != '.')) {
    fail_at(module_, here(),
            fmt::format("`{}` cannot follow the number {}", peek(),
                        describe(finish(kind, begin, location))));
  }
  return finish(kind, begin, location);
}

Token Lexer::string(SourceLocation location) {
  const std::size_t begin = position_;
  advance();
  while (peek() != '"') {
    if (position_ == text_.size() || peek() == '\n' || peek() == '\r') {
      fail_at(module_, location, "this string has no closing quote on its line");
    }
    if (is_control(peek())) fail_character(here());
    if (peek() == '\\') {
      const bool is_byte = peek(1) == 'x' && hex_value(peek(2)) >= 0 && hex_value(peek(3)) >= 0;
      if (peek(1) != '"' && peek(1) != '\\' && !is_byte) {
        fail_at(module_, here(),
                "in a string `\\` stands before `\"`, `\\` or `x` and two hexadecimal digits only; "
                "write `\\\\` for one `\\`");
      }
      advance();
    }
    advance();
  }
  advance();
  return finish(TokenKind::String, begin, location);
}

Token Lexer::symbol(SourceLocation location) {
  const std::size_t begin = position_;
  const char c = peek();
  if ((c == '-' && peek(1) == '>') || (c == '.' && peek(1) == '.')) {
    advance(2);
    return finish(TokenKind::Symbol, begin, location);
  }
  if (c == '\0' || std::string_view("()[]{},:=+-*/").find(c) == std::string_view::npos)
    fail_character(location);
  if (c == '(' || c == '[') ++open_brackets_;
  if ((c == ')' || c == ']') && open_brackets_ > 0) --open_brackets_;
  advance();
  return finish(TokenKind::Symbol, begin, location);
}

void Lexer::fail_character(SourceLocation location) const {
  const unsigned char c = static_cast<unsigned char>(peek());
  if (c > 0x20 && c < 0x7F)
    fail_at(module_, location, fmt::format("unexpected character `{}`", static_cast<char>(c)));
  fail_at(module_, location, fmt::format("unexpected byte 0x{:02X}; is this a dyn text file?", c));
}

}  // namespace dyn::graph
