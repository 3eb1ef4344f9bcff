#pragma once
// Splits the text IR into tokens, one at a time, in one pass over the text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/ir/module.hpp"

namespace dyn::graph {

enum class TokenKind : std::uint8_t { End, Newline, Name, Integer, Float, String, Symbol };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text;  ///< as it stands in the source, a string with its quotes
  SourceLocation location;

  bool is(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
  bool is_word(std::string_view word) const { return kind == TokenKind::Name && text == word; }
};

/// Messages call a token so: "`x`", "the end of the line", "the end of the file". Long ones are
/// clipped.
std::string describe(const Token& token);

/// The characters that a string token stands for.
std::string unquote(const Token& token);

/// `text` in quotes.
std::string quote_text(std::string_view text);

/// `name` as the text writes it: bare where it lexes as one name and is not reserved, else in
/// quotes.
std::string quote_name(std::string_view name);

/// Words that cannot name a value without quotes.
bool is_reserved(std::string_view word);

/// True for the name of an operator of the program: two names with `::` between them, one token.
bool is_operator_name(std::string_view name);

/// True for a name that is neither reserved, nor `_`, nor a function of dims.
bool can_name_dim(std::string_view word);

/// Newlines separate statements, but not between ( and ) or [ and ]; `#` starts a comment.
class Lexer {
 public:
  /// The text is module.source_text, which must be there; errors name module.source_name.
  explicit Lexer(const Module& module);

  /// The next token; after the end always End. Throws Error(model) for what is no token.
  Token next();

  /// Counts the characters looked at so far, each as often as it was looked at.
  std::size_t steps() const noexcept { return steps_; }

 private:
  char peek(std::size_t ahead = 0) const;
  void advance(std::size_t count = 1);
  void skip_blanks();
  Token finish(TokenKind kind, std::size_t begin, SourceLocation location) const;
  Token name(SourceLocation location);
  Token number(SourceLocation location);
  Token string(SourceLocation location);
  Token symbol(SourceLocation location);
  [[noreturn]] void fail_character(SourceLocation location) const;
  SourceLocation here() const { return {line_, static_cast<int>(position_ - line_begin_) + 1}; }

  const Module& module_;
  std::string_view text_;
  std::size_t position_ = 0;
  std::size_t line_begin_ = 0;
  std::size_t steps_ = 0;
  int line_ = 1;
  int open_brackets_ = 0;
};

}  // namespace dyn::graph
