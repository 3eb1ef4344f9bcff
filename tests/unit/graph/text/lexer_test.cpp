// Tokens: what is a token, where it stands, and what is none.

#include <memory>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/lexer.hpp"

using namespace dyn::graph;

namespace {

/// Kind letter, line:column and text of every token, one per line.
std::string tokens_of(const std::string& text) {
  Module module;
  module.source_name = "t";
  module.source_text = std::make_shared<const SourceText>(std::string(text));
  Lexer lexer(module);
  std::string result;
  for (;;) {
    const Token token = lexer.next();
    constexpr std::string_view letters = "$;nifs!";
    result += letters[static_cast<std::size_t>(token.kind)];
    result += std::to_string(token.location.line) + ":" + std::to_string(token.location.column);
    if (token.kind == TokenKind::End) return result;
    if (token.kind != TokenKind::Newline) result += std::string(token.text);
    result += ' ';
  }
}

std::string error_of_tokens(const std::string& text) {
  try {
    tokens_of(text);
  } catch (const dyn::Error& error) {
    return error.message().substr(0, error.message().find('\n'));
  }
  return "";
}

}  // namespace

TEST_CASE("tokens have kinds and places") {
  CHECK(tokens_of("") == "$1:1");
  CHECK(tokens_of("a1.b.2c = f(-3)") ==
        "n1:1a1.b.2c !1:9= n1:11f !1:12( !1:13- i1:143 !1:15) $1:16");
  CHECK(tokens_of("1..64 2.5 1e-5 3E7->") ==
        "i1:11 !1:2.. i1:464 f1:72.5 f1:111e-5 f1:163E7 !1:19-> $1:21");
  CHECK(tokens_of("\"a \\\"b\"") == "s1:1\"a \\\"b\" $1:8");
}

TEST_CASE("newlines separate statements, but not inside brackets") {
  CHECK(tokens_of("a\n\n # comment\n\nb\n") == "n1:1a ;1:2 n5:1b ;5:2 $6:1");
  CHECK(tokens_of("a\r\nb") == "n1:1a ;1:3 n2:1b $2:2");
  CHECK(tokens_of("f(a,\n  b # why\n)\nc") ==
        "n1:1f !1:2( n1:3a !1:4, n2:3b !3:1) ;3:2 n4:1c $4:2");
  CHECK(tokens_of("]\na") == "!1:1] ;1:2 n2:1a $2:2");
}

TEST_CASE("a byte order mark is skipped") {
  CHECK(tokens_of("\xEF\xBB\xBF"
                  "dyn") == "n1:1dyn $1:4");
}

TEST_CASE("what is no token") {
  CHECK(error_of_tokens("a ; b") == "t:1:3: unexpected character `;`");
  CHECK(error_of_tokens(std::string("a\n\0b", 4)) ==
        "t:2:1: unexpected byte 0x00; is this a dyn text file?");
  CHECK(error_of_tokens("\xC3\xA9") == "t:1:1: unexpected byte 0xC3; is this a dyn text file?");
  CHECK(error_of_tokens("x = \"abc") == "t:1:5: this string has no closing quote on its line");
  CHECK(error_of_tokens("\"a\nb\"") == "t:1:1: this string has no closing quote on its line");
  CHECK(error_of_tokens("\"a\\n\"").find("t:1:3: in a string") == 0);
  CHECK(error_of_tokens("\"a\\x0\"").find("t:1:3: in a string") == 0);
  CHECK(error_of_tokens("\"a\\xg0\"").find("t:1:3: in a string") == 0);
  CHECK(error_of_tokens("12ab") == "t:1:3: `a` cannot follow the number `12`");
  CHECK(error_of_tokens("1.") == "t:1:2: `.` cannot follow the number `1`");
  CHECK(error_of_tokens("1e+") == "t:1:1: the exponent of this number has no digits");
  CHECK(error_of_tokens("a.b.").find("t:1:4: a name cannot end with a dot") == 0);
}

TEST_CASE("names are quoted where they have to be") {
  CHECK(quote_name("layer.0.weight") == "layer.0.weight");
  CHECK(quote_name("return") == "\"return\"");
  CHECK(quote_name("onnx::MatMul_7") == "\"onnx::MatMul_7\"");
  CHECK(quote_name("0") == "\"0\"");
  CHECK(quote_name("a..b") == "\"a..b\"");
  CHECK(quote_name("") == "\"\"");
  CHECK(quote_name("a\\\"") == "\"a\\\\\\\"\"");
  CHECK(quote_name("a\nb") == "\"a\\x0ab\"");
}

TEST_CASE("quoted bytes are those of the name") {
  std::string name;
  for (int byte = 0; byte < 256; ++byte) name += static_cast<char>(byte);
  const std::string quoted = quote_name(name);
  CHECK(unquote({TokenKind::String, quoted, {}}) == name);
  CHECK(unquote({TokenKind::String, "\"\\x7F\\x0a\"", {}}) == "\x7f\n");
  CHECK(error_of_tokens(quoted).empty());
}

TEST_CASE("every character is looked at once") {
  const auto steps_of = [](std::size_t lines) {
    std::string text;
    for (std::size_t i = 0; i < lines; ++i) text += "x = f(a, \"b\", 1.5, [2..3]) # note\n\n";
    Module module;
    module.source_text = std::make_shared<const SourceText>(std::string(text));
    Lexer lexer(module);
    while (lexer.next().kind != TokenKind::End) {}
    CHECK(lexer.steps() == text.size());
  };
  steps_of(1);
  steps_of(1000);
}
