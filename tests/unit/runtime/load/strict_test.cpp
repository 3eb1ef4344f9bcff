// Options::strict: values that have no result are errors of a run.

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/runtime/load/model.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

/// Quotients and remainders; `at` makes it a model whose run decides a size.
std::string divisions(const std::string& dtype, bool has_segments) {
  const std::string results = " -> (q: D[N], r: D[N]", first = "graph g(a: D[N], b: D[N])";
  std::string text = "dyn 1\ndim N\n" + std::string(has_segments ? "dim P\n" : "") + first +
                     results + (has_segments ? ", at: i64[1, P]" : "") +
                     ") {\n  q = a / b\n  r = mod(a + 1, b)\n" +
                     (has_segments ? "  at = nonzero(q) count=P\n" : "") + "  return q, r" +
                     (has_segments ? ", at" : "") + "\n}\n";
  for (std::size_t i; (i = text.find("D[")) != std::string::npos;) text.replace(i, 1, dtype);
  return text;
}

template <class T>
void check_divisions(const std::string& text, Options options) {
  const std::vector<T> a{7, 8, 9}, good{2, 3, 5}, bad{2, 0, 5};
  for (const bool strict : {false, true}) {
    options.strict = strict;
    CAPTURE(strict);
    const Graph graph = Graph::from_text(text, options);
    const auto run = [&](const std::vector<T>& b) {
      return graph.run({{"a", Tensor::view(a, {3})}, {"b", Tensor::view(b, {3})}});
    };
    const Outputs fine = run(good);
    CHECK(std::ranges::equal(fine["q"].data<T>(), std::vector<T>{3, 2, 1}));
    CHECK(std::ranges::equal(fine["r"].data<T>(), std::vector<T>{0, 0, 0}));
    if (strict) {
      testing::check_error(ErrorKind::user, [&] { run(bad); }, "out of range");
    } else {
      const Outputs zero = run(bad);
      CHECK(std::ranges::equal(zero["q"].data<T>(), std::vector<T>{3, 0, 1}));
      CHECK(std::ranges::equal(zero["r"].data<T>(), std::vector<T>{0, 0, 0}));
    }
  }
}

}  // namespace

TEST_CASE("a division of integers by zero is an error where the options are strict") {
  for (const char* device : {"cpu", "reference"}) {
    for (const bool has_segments : {false, true}) {
      CAPTURE(device);
      CAPTURE(has_segments);
      const Options options = testing::uncached(1, device);
      check_divisions<std::int32_t>(divisions("i32", has_segments), options);
      check_divisions<std::int64_t>(divisions("i64", has_segments), options);
      check_divisions<std::uint8_t>(divisions("u8", has_segments), options);
    }
  }
}

TEST_CASE("strict options say what may be wrong, and leave divisions by constants alone") {
  Options options = testing::uncached(1);
  options.strict = true;
  const Graph graph = Graph::from_text(divisions("i32", false), options);
  const std::vector<std::int32_t> a{1, 2}, b{1, 0};
  testing::check_error(
      ErrorKind::user,
      [&] { graph.run({{"a", Tensor::view(a, {2})}, {"b", Tensor::view(b, {2})}}); },
      "a divisor is 0");
  const Graph constant = Graph::from_text(
      "dyn 1\ndim N\ngraph g(a: i32[N]) -> (q: i32[N]) {\n  q = a / 2\n  return q\n}\n", options);
  const auto& nodes = constant.model()->module().nodes;
  CHECK(nodes.size() == 1);
  const Graph floats = Graph::from_text(
      "dyn 1\ndim N\ngraph g(a: f32[N], b: f32[N]) -> (q: f32[N]) {\n  q = a / b\n  return q\n}\n",
      options);
  CHECK(floats.model()->module().nodes.size() == 1);
}
