// Every broken file is an error that says where and what.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"
#include "tests/unit/graph/text/support.hpp"

using namespace dyn::test;

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

/// Each file of tests/bad begins with "# LINE:COLUMN: part of the message".
TEST_CASE("tests/bad: place and message") {
  const std::vector<std::string> paths = list_sources("tests/bad", ".dyn");
  REQUIRE(paths.size() >= 60);
  for (const std::string& path : paths) {
    const std::string text = read_source(path);
    const std::string expected = first_line(text).substr(2);
    const std::size_t place_end = expected.find(": ");
    const std::string message = error_of(text);
    INFO(path << "\nexpected: " << expected << "\ngot: " << message);
    CHECK(message.find("test.dyn:" + expected.substr(0, place_end) + ": ") == 0);
    CHECK(message.find(expected.substr(place_end + 2)) != std::string::npos);
    CHECK(message.find('^') != std::string::npos);
  }
}

TEST_CASE("the whole text of an error") {
  CHECK(error_of("dyn 1\ngraph g(x: f32[4]) -> (r: f32[4]) {\n  r = rel(x)\n  return r\n}\n") ==
        "test.dyn:3:7: unknown operator `rel`; did you mean `relu`?\n  r = rel(x)\n      ^");
}

TEST_CASE("kinds of errors") {
  const auto kind_of = [](const std::string& text) {
    try {
      dyn::graph::parse(text);
    } catch (const dyn::Error& error) { return error.kind(); }
    return dyn::ErrorKind::internal;
  };
  CHECK(kind_of("dyn 2\n") == dyn::ErrorKind::unsupported);
  CHECK(kind_of("dyn 1\nstate k: f32[4]\n") == dyn::ErrorKind::model);
  CHECK(kind_of(model("state = x\nreturn x")) == dyn::ErrorKind::model);
  CHECK(kind_of(model("offsets = x\nreturn x")) == dyn::ErrorKind::unsupported);
  CHECK(kind_of(model("r = relu(x) offsets=ids\nreturn r")) == dyn::ErrorKind::unsupported);
  CHECK(kind_of(model("r = relu(z)\nreturn r")) == dyn::ErrorKind::model);
}

TEST_CASE("empty, noise and binary files") {
  CHECK(first_line(error_of("")) == "test.dyn:1:1: the file is empty; a model begins with `dyn 1`");
  CHECK(first_line(error_of("\n# nothing\n\n")) ==
        "test.dyn:4:1: the file is empty; a model begins with `dyn 1`");
  CHECK(first_line(error_of(std::string(100, '\0'))).find("test.dyn:1:1: unexpected byte 0x00") ==
        0);
  CHECK(first_line(error_of("\x7F"
                            "ELF\x02\x01"))
            .find("test.dyn:1:1: unexpected byte 0x7F") == 0);
  CHECK(error_of("\x9C\x01z\xC3\xA9\xC3 \xE2\x82").find("\n? z\xC3\xA9? ??\n^") !=
        std::string::npos);  // shown without characters that a terminal would obey
  CHECK(first_line(error_of("PK\x03\x04")).find("test.dyn:1:1: expected `dyn 1`") == 0);
  CHECK(first_line(error_of("hello world")) ==
        "test.dyn:1:1: expected `dyn 1`, with which every model begins, found `hello`");
}

TEST_CASE("a file cut anywhere is an error, never a crash") {
  const std::string text = read_source("tests/models/encoder_small.dyn");
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length < end; ++length) {
    const std::string message = error_of(text.substr(0, length));
    INFO("cut after " << length << " bytes: " << message);
    REQUIRE(message.find("test.dyn:") == 0);
  }
  CHECK(error_of(text.substr(0, end + 1)) == "");
}

TEST_CASE("CRLF files are read like others") {
  std::string text;
  for (const char c : read_source("tests/models/encoder_small.dyn"))
    text += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(dyn::graph::print(dyn::graph::parse(text)) ==
        dyn::graph::print(dyn::graph::parse(read_source("tests/models/encoder_small.dyn"))));
}

TEST_CASE("long lines and names are clipped") {
  const std::string name(100'000, 'a');
  for (const std::string& text :
       {model("r = relu(" + name + ")\nreturn r"), model(name + " = " + name + "\nreturn x"),
        model("r = " + name + "(x)\nreturn r"), model("r = relu(x) " + name + "=1\nreturn r"),
        "dyn " + std::string(100'000, '9'), "dyn 1\ndim " + name + " in 2..1\n"}) {
    CHECK(error_of(text) != "");
    CHECK_MESSAGE(error_of(text).size() < 1000, error_of(text).substr(0, 200));
  }
}
