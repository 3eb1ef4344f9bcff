// Expressions with names: atoms of others, with the same values.

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "dyn/error.hpp"
#include "graph/dims/dim.hpp"
#include "graph/shapes/propagate.hpp"
#include "graph/text/text.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::graph;

namespace {

struct Table {
  DimTable dims;
  Dim S = dims.symbol({"S", 4, 1000, 4, std::nullopt, false}),
      T = dims.symbol({"T", 0, 9, 1, std::nullopt, false});
  Dim c(std::int64_t value) { return dims.constant(value); }
};

}  // namespace

TEST_CASE("a named dim is an atom with the values, bounds and divisor of its expression") {
  Table t;
  const Dim sum = floordiv(t.S, t.c(8)) * 6 + t.S * 2, named = t.dims.named(sum);
  const std::string name = to_string(named);
  CHECK(name.starts_with("size_"));
  Table other;
  other.dims.named(other.S * 7 + other.T);
  CHECK(to_string(other.dims.named(floordiv(other.S, other.c(8)) * 6 + other.S * 2)) == name);
  CHECK(t.dims.named(floordiv(t.S, t.c(8)) * 6 + t.S * 2) == named);
  CHECK(t.dims.named(sum, "other") == named);
  CHECK(t.dims.find_symbol("other") == named);
  CHECK(t.dims.find_symbol(name) == named);
  CHECK(bounds(named) == bounds(sum));
  CHECK(known_divisor(named) == known_divisor(sum));
  CHECK(named.symbol() == std::nullopt);
  CHECK(to_string(named * 2 + named - t.T) == name + " * 3 - T");
  CHECK(named - named == t.c(0));
  CHECK(prove_less_equal(t.T, named + 1) == true);
  CHECK(t.dims.named(t.S) == t.S);
  CHECK(t.dims.named(named) == named);
  CHECK(t.dims.named(t.c(3)) == t.c(3));
  const std::vector<std::int64_t> values{36, 5};
  CHECK(evaluate(named + t.T, values) == 4 * 6 + 72 + 5);
  std::set<int> symbols;
  for_each_symbol(named * t.T, [&](int symbol) { symbols.insert(symbol); });
  CHECK(symbols == std::set<int>{0, 1});
}

TEST_CASE("what replaces a symbol replaces it in named dims too") {
  Table t;
  const Dim named = t.dims.named(t.S * 2 + mod(t.T, t.c(3)));
  CHECK(t.dims.substitute(named + 1, std::vector<Dim>{Dim(), t.c(5)}) == t.S * 2 + 3);
  CHECK(t.dims.substitute(named, std::vector<Dim>{}) == named);
}

TEST_CASE("sizes of sizes have their values, however deep they are") {
  INFO("DYN_SEED=", dyn::testing::test_seed());
  std::mt19937_64 generator(dyn::testing::test_seed());
  Table t;
  const std::vector<std::int64_t> symbols{900, 7};
  std::vector<Dim> dims{t.S, t.T + 1};
  std::vector<std::int64_t> values{900, 8};
  bool any_named = false;
  for (int i = 0; i < 3000; ++i) {
    const auto pick = [&] {
      return dims.size() - 1 - generator() % std::min<std::size_t>(dims.size(), 3);
    };
    const std::size_t a = pick(), b = pick();
    const auto divisor = static_cast<std::int64_t>(2 + generator() % 5);
    // Grows by itself, and is cut where it could overflow.
    const Dim next = mod(dims[a] * 3 + floordiv(dims[b], t.c(divisor)) + 1, t.c(100'003));
    dims.push_back(abbreviated(max(next, min(dims[b], t.c(50)))));
    values.push_back(std::max((values[a] * 3 + values[b] / divisor + 1) % 100'003,
                              std::min<std::int64_t>(values[b], 50)));
    any_named = any_named || !named_parts(dims.back()).empty();
  }
  CHECK(any_named);
  CHECK(evaluate(dims.back(), symbols) == values.back());
  DimProgram program;
  std::vector<int> slots;
  for (const std::size_t i : {dims.size() - 1, dims.size() / 2, dims.size() - 2})
    slots.push_back(program.slot(dims[i]));
  std::vector<std::int64_t> results(static_cast<std::size_t>(program.size()));
  program.run(symbols, results);
  CHECK(results[static_cast<std::size_t>(slots[0])] == values.back());
  CHECK(results[static_cast<std::size_t>(slots[1])] == values[dims.size() / 2]);
  CHECK(results[static_cast<std::size_t>(slots[2])] == values[dims.size() - 2]);
  const Dim replaced = t.dims.substitute(dims.back(), std::vector<Dim>{t.c(900), t.c(7)});
  CHECK(replaced.constant() == values.back());
}

TEST_CASE("a product of long sums is one of their names") {
  DimTable dims;
  Dim a = dims.constant(1), b = dims.constant(2);
  std::vector<std::int64_t> symbols;
  std::int64_t sum = 0;
  for (int i = 0; i < 40; ++i) {
    const Dim symbol = dims.symbol({});
    a = a + symbol;
    b = b + symbol * (i + 2);
    symbols.push_back(i);
    sum += i * (i + 2);
  }
  const Dim product = a * b;
  CHECK(named_parts(product).size() == 2);
  CHECK(evaluate(product, symbols) == (1 + 39 * 20) * (2 + sum));
  CHECK(b * a == product);
}

TEST_CASE("the text names expressions, and reads them back") {
  const std::string text =
      "dyn 1\n"
      "dim S in 1..64\n"
      "dim half = floordiv(S, 2)\n"
      "dim both = mod(half, 3) + half * 2\n"
      "\n"
      "graph g(x: f32[S]) -> (y: f32[half], z: f32[both]) {\n"
      "  y = slice(x) axes=[0] ends=[half]\n"
      "  i = range() end=(both)\n"
      "  z = cast(i) dtype=f32\n"
      "  return y, z\n"
      "}\n";
  Module module = parse(text, "a test");
  propagate_shapes(module);
  CHECK(print(module) == text);
  CHECK(evaluate(module.value(module.outputs[1]).type.dims[0], std::vector<std::int64_t>{11}) ==
        12);
  CHECK_THROWS_WITH_AS(parse("dyn 1\ndim S\ndim S = 3\n", "a test"),
                       doctest::Contains("defined twice"), dyn::Error);
  CHECK_THROWS_WITH_AS(parse("dyn 1\ndim P = Q + 1\n", "a test"), doctest::Contains("unknown dim"),
                       dyn::Error);
  CHECK_THROWS_WITH_AS(parse("dyn 1\ndim S\ndim P = S + 1 hint 3\n", "a test"),
                       doctest::Contains("hint"), dyn::Error);
}
