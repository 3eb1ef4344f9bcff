// Taking tokens, one by one, with errors that say what was expected and what is there.

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "graph/ir/diagnostic.hpp"
#include "graph/text/parser.hpp"

namespace dyn::graph {

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= max_nesting) {
    parser.fail(parser.token_.location,
                fmt::format("nested more than {} levels deep; name the inner parts", max_nesting));
  }
  ++parser.depth_;
}

void Parser::fail(SourceLocation location, const std::string& message) const {
  fail_at(module_, location, message);
}

void Parser::fail_unsupported(SourceLocation location, const std::string& message) const {
  throw Error(ErrorKind::unsupported, format_at(module_, location, message));
}

void Parser::fail_expected(std::string_view what) const {
  fail(token_.location, fmt::format("expected {}, found {}", what, describe(token_)));
}

Token Parser::take() {
  const Token token = token_;
  token_ = lexer_.next();
  return token;
}

bool Parser::accept(std::string_view symbol) {
  if (!token_.is(symbol)) return false;
  take();
  return true;
}

void Parser::expect(std::string_view symbol, std::string_view after) {
  if (!accept(symbol)) fail_expected(fmt::format("`{}` after {}", symbol, after));
}

void Parser::expect_line_end(std::string_view after) {
  if (token_.kind != TokenKind::Newline && token_.kind != TokenKind::End) {
    fail_expected(fmt::format("the end of the line after {}", after));
  }
  skip_newlines();
}

void Parser::skip_newlines() {
  while (token_.kind == TokenKind::Newline) take();
}

void Parser::fail_operator_name(const Token& token) const {
  fail(token.location,
       fmt::format("{} is the name of an operator; quote it to use it as another name",
                   describe(token)));
}

Parser::Name Parser::take_name(std::string_view what) {
  if (token_.kind == TokenKind::String) {
    const Token token = take();
    return {unquote(token), token.location};
  }
  if (token_.kind != TokenKind::Name) fail_expected(what);
  if (token_.is_word("offsets")) {
    fail_unsupported(token_.location,
                     fmt::format("{} is a reserved word of the dyn text format, which this library "
                                 "does not support; quote it to use it as a name",
                                 describe(token_)));
  }
  if (is_operator_name(token_.text)) fail_operator_name(token_);
  if (is_reserved(token_.text)) {
    fail(token_.location,
         fmt::format("expected {}, found the reserved word {}; quote it to use it as a name", what,
                     describe(token_)));
  }
  const Token token = take();
  return {std::string(token.text), token.location};
}

std::string_view Parser::take_word(std::string_view what) {
  if (token_.kind != TokenKind::Name) fail_expected(what);
  return take().text;
}

std::int64_t Parser::to_integer(const Token& token, bool negative) const {
  std::uint64_t magnitude = 0;
  const char* end = token.text.data() + token.text.size();
  const std::uint64_t limit =
      std::uint64_t{std::numeric_limits<std::int64_t>::max()} + (negative ? 1 : 0);
  const std::from_chars_result result = std::from_chars(token.text.data(), end, magnitude);
  if (result.ec != std::errc() || magnitude > limit) {
    fail(token.location, fmt::format("the integer {} does not fit into 64 bits", describe(token)));
  }
  return static_cast<std::int64_t>(negative ? ~magnitude + 1 : magnitude);
}

double Parser::to_float(const Token& token, bool negative) const {
  double value = 0;
  const char* end = token.text.data() + token.text.size();
  if (std::from_chars(token.text.data(), end, value).ec != std::errc()) {
    fail(token.location,
         fmt::format("the number {} is out of the range of a double; write `inf` or 0.0",
                     describe(token)));
  }
  return negative ? -value : value;
}

std::int64_t Parser::take_integer(std::string_view what) {
  const bool negative = accept("-");
  if (token_.kind != TokenKind::Integer) fail_expected(what);
  return to_integer(take(), negative);
}

double Parser::take_number(std::string_view what) {
  const bool negative = accept("-");
  const double sign = negative ? -1 : 1;
  if (token_.kind == TokenKind::Integer || token_.kind == TokenKind::Float)
    return to_float(take(), negative);
  if (token_.is_word("inf")) return take(), sign * std::numeric_limits<double>::infinity();
  if (token_.is_word("nan")) return take(), std::numeric_limits<double>::quiet_NaN();
  fail_expected(what);
}

}  // namespace dyn::graph
