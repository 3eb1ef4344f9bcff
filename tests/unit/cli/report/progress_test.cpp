// The line that says what a command is doing.

#include <doctest/doctest.h>

#include "src/cli/report/progress.hpp"

using dyn::cli::load_line;
using dyn::cli::progress_line;

TEST_CASE("a line of progress never fills the terminal's line") {
  CHECK(progress_line("loading a", 80) == "loading a");
  CHECK(progress_line("loading a", 10) == "loading a");
  CHECK(progress_line("loading a", 9) == "loadi...");
  CHECK(progress_line("loading a", 4) == "...");
  CHECK(progress_line("loading a", 2) == ".");
  CHECK(progress_line("loading a", 0).empty());
  CHECK(progress_line("", 80).empty());
}

TEST_CASE("a line of progress counts and cuts characters, not bytes") {
  CHECK(progress_line("\u00e9\u00e9\u00e9\u00e9\u00e9", 6) == "\u00e9\u00e9\u00e9\u00e9\u00e9");
  CHECK(progress_line("\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9", 6) == "\u00e9\u00e9...");
}

TEST_CASE("a line of progress has no control characters") {
  CHECK(progress_line("a\nb\x1b[2J\x7f", 80) == "a?b?[2J?");
}

TEST_CASE("the line of a load says how far its stage is") {
  CHECK(load_line("a.onnx", {"compile", 3, 120}) == "loading a.onnx: compile, 3 of 120");
  CHECK(load_line("a.onnx", {"weights", 61'999'999, 438'000'000}) ==
        "loading a.onnx: weights, 61 of 438 MB");
  CHECK(load_line("a.onnx", {"weights", 10, 400}) == "loading a.onnx: weights, 10 of 400");
  CHECK(load_line("a.onnx", {"parse", 0, 0}) == "loading a.onnx: parse");
}
