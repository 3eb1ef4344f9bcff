// Megabytes: linear work, and nesting that cannot overflow the stack.

#include <memory>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/parser.hpp"
#include "graph/text/text.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::graph;
using namespace dyn::test;

namespace {

std::string repeat(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::string long_model(std::size_t statements) {
  std::string body;
  for (std::size_t i = 0; i < statements; ++i) {
    const std::string from = i == 0 ? "x" : "v" + std::to_string(i - 1);
    body += "  v" + std::to_string(i) + " = relu(" + from + " * 0.5 + y)\n";
  }
  return model(body + "return v" + std::to_string(statements - 1));
}

}  // namespace

TEST_CASE("the parser looks at each character once, whatever the size") {
  for (const std::size_t statements : {100u, 1000u, 100'000u}) {
    const std::string text = long_model(statements);
    Module module;
    module.source_text = std::make_shared<const SourceText>(std::string(text));
    Parser parser(module);
    parser.run();
    CHECK(parser.steps() == text.size());
    CHECK(module.nodes.size() == 3 * statements);
  }
}

TEST_CASE("a hundred thousand statements parse, verify and propagate") {
  const int statements = dyn::testing::test_rounds(100'000);
  const Module module = parse(long_model(statements));
  CHECK(module.nodes.size() == 3 * static_cast<std::size_t>(statements));
}

TEST_CASE("nesting: 250 levels are read, megabytes of it are an error") {
  const auto nested = [](std::string_view open, std::string_view close, std::size_t depth) {
    return error_of(
        model("r = " + repeat(open, depth) + "x" + repeat(close, depth) + "\nreturn r"));
  };
  CHECK(nested("(", ")", 250) == "");
  CHECK(nested("relu(", ")", 250) == "");
  for (const std::size_t depth : {300u, 1'000'000u}) {
    CHECK(nested("(", ")", depth).find("nested more than 256 levels deep") != std::string::npos);
    CHECK(nested("(", "", depth).find("nested more than 256 levels deep") != std::string::npos);
    CHECK(nested("relu(", ")", depth).find("nested more than 256 levels deep") !=
          std::string::npos);
    CHECK(nested("relu(-(", "))", depth).find("nested more than 256 levels deep") !=
          std::string::npos);
  }
}

TEST_CASE("megabytes of signs and operators are read without recursion") {
  const auto times = static_cast<std::size_t>(dyn::testing::test_rounds(100'000));
  CHECK(error_of(model("r = " + repeat("-", times) + "x\nreturn r")) == "");
  CHECK(error_of(model("r = x" + repeat(" + x", times) + "\nreturn r")) == "");
  CHECK(error_of(model("r = x" + repeat(" * 1.5", times) + "\nreturn r")) == "");
}

TEST_CASE("dim expressions: nesting and length are bounded") {
  const auto with_dim = [](const std::string& dim) {
    return error_of("dyn 1\ndim S\ngraph g(x: f32[" + dim +
                    "]) -> (r: f32[_]) {\nreturn relu(x)\n}");
  };
  CHECK(with_dim("S" + repeat(" + 1", 200)) == "");
  CHECK(with_dim("S" + repeat(" + S", 1000)).find("more than 256 operators") != std::string::npos);
  CHECK(with_dim(repeat("(", 100'000) + "S").find("nested more than 256 levels") !=
        std::string::npos);
  CHECK(with_dim(repeat("-", 100'000) + "S").find("than 256") != std::string::npos);
  CHECK(with_dim(repeat("min(S, ", 100'000) + "S").find("than 256") != std::string::npos);
}

TEST_CASE("megabytes of one kind of line") {
  CHECK(error_of(repeat("\n", 1'000'000)).find("the file is empty") != std::string::npos);
  CHECK(error_of("dyn 1\n" + repeat("dim a\n", 100'000))
            .find("test.dyn:3:5: the dim `a` is defined twice") == 0);
  CHECK(error_of(repeat("[", 1'000'000)) != "");
  CHECK(error_of("dyn 1\n" + repeat("weights \"a\"\n", 100'000)).find("the end of the file") !=
        std::string::npos);
}
