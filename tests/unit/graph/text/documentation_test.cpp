// docs/ir.md: its operator chapter is the registry's, and its example parses.

#include <doctest/doctest.h>

#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::graph;
using namespace dyn::test;

namespace {

constexpr std::string_view begin_mark = "<!-- operators: generated from the registry -->\n";
constexpr std::string_view end_mark = "<!-- end of operators -->\n";

}  // namespace

TEST_CASE("the operator chapter is the registry's") {
  const std::string page = read_source("docs/ir.md");
  const std::size_t begin = page.find(begin_mark), end = page.find(end_mark);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  check_golden("docs/ir.md",
               page.substr(0, begin + begin_mark.size()) + operator_reference() + page.substr(end));
}

TEST_CASE("the operator chapter has every operator and attribute") {
  const std::string chapter = operator_reference();
  for (const OpDef& op : all_ops()) {
    INFO(op.name);
    CHECK(chapter.find("### `" + op.name + "`\n") != std::string::npos);
    for (const AttrDef& attr : op.attrs)
      CHECK(chapter.find("| `" + attr.name + "` |") != std::string::npos);
  }
}

TEST_CASE("the page's models parse") {
  const std::string page = read_source("docs/ir.md");
  constexpr std::string_view open = "```dyn\n", close = "```\n";
  int models = 0;
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) {
    const std::string text =
        page.substr(at + open.size(), page.find(close, at + open.size()) - at - open.size());
    INFO(text);
    CHECK(error_of(text) == "");
    ++models;
  }
  CHECK(models >= 1);
}
