#include "graph/dims/dim.hpp"

#include <limits>

#include <doctest/doctest.h>

#include "dyn/error.hpp"

using namespace dyn::graph;

namespace {

constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max();

struct DimFixture {
  DimTable table;
  Dim B = table.symbol({.name = "B", .low = 1, .high = 64, .hint = std::nullopt});
  Dim S = table.symbol({.name = "S", .low = 1, .high = 512, .hint = std::nullopt});
  Dim Z = table.symbol({.name = "Z", .low = 0, .high = unbounded, .hint = std::nullopt});
  Dim M = table.symbol({.name = "M", .low = 1, .high = 4096, .divisor = 8, .hint = std::nullopt});
  Dim c(std::int64_t value) { return table.constant(value); }
};

}  // namespace

TEST_CASE_FIXTURE(DimFixture, "equal expressions are one node") {
  CHECK((S + 1) * 2 - S * 2 == c(2));
  CHECK(S - S == c(0));
  CHECK(B * S * 12 * 64 == B * S * 768);
  CHECK((B + S) * (B - S) == B * B - S * S);
  CHECK(B * S == S * B);
  CHECK((Z + 1) + (B + 2) == B + Z + 3);
}

TEST_CASE_FIXTURE(DimFixture, "floordiv and mod simplify") {
  CHECK(floordiv(S * 4, c(4)) == S);
  CHECK(floordiv(S * 768, c(768)) == S);
  CHECK(mod(S * 4, c(4)) == c(0));
  CHECK(floordiv(S * 4 + 3, c(4)) == S);
  CHECK(mod(S * 4 + 3, c(4)) == c(3));
  CHECK(floordiv(Z * S, S) == Z);
  CHECK(floordiv(B * S * 768, B * 768) == S);
  CHECK(floordiv(B * S + B * 3, S + 3) == B);
  CHECK(floordiv(S, c(1024)) == c(0));
  CHECK(mod(S, c(1024)) == S);
  CHECK(mod(M, c(8)) == c(0));
  CHECK(floordiv(M, c(8)) * 8 == M);
  CHECK(floordiv(S, c(4)) * 4 + mod(S, c(4)) == S);
  CHECK(floordiv(floordiv(S, c(2)), c(3)) == floordiv(S, c(6)));
  CHECK(mod(mod(S, c(12)), c(4)) == mod(S, c(4)));
  CHECK(floordiv(c(-7), c(2)) == c(-4));
  CHECK(mod(c(-7), c(2)) == c(1));
}

TEST_CASE_FIXTURE(DimFixture, "a divisor that may be zero is kept") {
  CHECK(floordiv(S * Z, Z) != S);
  CHECK_THROWS_AS(evaluate(floordiv(S * Z, Z), std::vector<std::int64_t>{1, 2, 0, 8}), dyn::Error);
}

TEST_CASE_FIXTURE(DimFixture, "the least coefficient divides without a trap") {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Dim quotient = floordiv(S * least, c(600) - S);
  CHECK(bounds(quotient).high < 0);
  CHECK(floordiv(c(least), c(-1)) == c(unbounded));
  CHECK(mod(c(least), c(-1)) == c(0));
}

TEST_CASE_FIXTURE(DimFixture, "min and max simplify") {
  CHECK(min(S, S + 1) == S);
  CHECK(max(S, c(1)) == S);
  CHECK(max(Z, c(1)) != Z);
  CHECK(min(S, c(1000)) == S);
  CHECK(min(min(S, Z), min(Z, B)) == min(B, min(S, Z)));
  CHECK(min(S, max(S, Z)) == S);
  CHECK(max(S, min(S, Z)) == S);
}

TEST_CASE_FIXTURE(DimFixture, "sizes cut again and again stay one min or max") {
  CHECK(max(max(Z - 1, c(0)) - 1, c(0)) == max(Z - 2, c(0)));
  CHECK(Z - min(c(1), Z) == max(Z - 1, c(0)));
  CHECK(max(Z, c(3)) + 2 == max(Z + 2, c(5)));
  CHECK(c(7) - max(Z, c(3)) == min(c(7) - Z, c(4)));
  CHECK(min(max(Z, c(3)), c(9)) - 3 == min(max(Z - 3, c(0)), c(6)));
  CHECK((Z + min(B, c(4)) - min(Z, c(5))).node()->op == DimOp::Add);
}

TEST_CASE_FIXTURE(DimFixture, "what a constant shifts differs by the constant") {
  const Dim c99 = table.constant(99), least = min(S, c99), most = max(S * 2, B + 3);
  CHECK((least + 1) - least == table.constant(1));
  CHECK(least - (least + 7) == table.constant(-7));
  CHECK((most - 4) * 3 - most * 3 == table.constant(-12));
  CHECK(max(table.constant(0), min(table.constant(100), S + 1) - least) == table.constant(1));
  CHECK((min(S + 1, table.constant(101)) - least).constant() == std::nullopt);
}

TEST_CASE_FIXTURE(DimFixture, "bounds") {
  CHECK(bounds(S + 1) == Interval{2, 513});
  CHECK(bounds(S * -2) == Interval{-1024, -2});
  CHECK(bounds(B * S) == Interval{1, 64 * 512});
  CHECK(bounds(M) == Interval{8, 4096});
  CHECK(bounds(Z * 8) == Interval{0, unbounded});
  CHECK(bounds(floordiv(S, c(3))) == Interval{0, 170});
  CHECK(bounds(mod(Z, c(5))) == Interval{0, 4});
  CHECK(bounds(min(S, Z)) == Interval{0, 512});
  CHECK(bounds(B * 512 - B * S).low == 0);
}

TEST_CASE_FIXTURE(DimFixture, "sums with quotients have the bounds of what is left of them") {
  CHECK(bounds(floordiv(Z + 5, c(3)) - floordiv(Z + 1, c(3))) == Interval{1, 2});
  CHECK(bounds(floordiv(Z, c(3)) * 6 - Z * 2 + 1) == Interval{-3, 1});
  CHECK(bounds(floordiv(Z, c(4)) * 2 - floordiv(Z, c(2))) == Interval{-1, 0});
  CHECK(bounds(floordiv(Z * 3 + 2, c(2)) - Z) == Interval{1, unbounded});
  CHECK(bounds(Z - floordiv(Z * 3, c(2))).high == 0);
  // The rounding up in a pool's size needs no max() and no min().
  const Dim height = floordiv(Z + 1, c(2)), windows = floordiv(height - 3 + 1, c(2)) + 1;
  CHECK(min(windows, floordiv(height - 1, c(2)) + 1) == windows);
  CHECK(max((windows - 1) * 2 + 3 - height, c(0)) == (windows - 1) * 2 + 3 - height);
}

TEST_CASE_FIXTURE(DimFixture, "proofs") {
  CHECK(prove_multiple(B * 768, 64) == true);
  CHECK(prove_multiple(M * S, 8) == true);
  CHECK(prove_multiple(B * 64 + 1, 64) == false);
  CHECK(prove_multiple(S, 2) == std::nullopt);
  CHECK(prove_less(S, c(513)) == true);
  CHECK(prove_less(S, c(512)) == std::nullopt);
  CHECK(prove_less(S, c(1)) == false);
  CHECK(prove_less_equal(B, B * S) == true);
  CHECK(prove_less_equal(S, B) == std::nullopt);
  CHECK(prove_equal(S, S + 1) == false);
  CHECK(prove_equal(S, B) == std::nullopt);
  CHECK(prove_equal(S, c(513)) == false);
  CHECK(prove_equal(S * 2, B * 4 + 1) == false);
}

TEST_CASE_FIXTURE(DimFixture, "text") {
  CHECK(to_string(S * B * 768 + 1) == "B * S * 768 + 1");
  CHECK(to_string(S - 1) == "S - 1");
  CHECK(to_string(c(3) - S) == "3 - S");
  CHECK(to_string(S * -2 - 5) == "0 - S * 2 - 5");
  // A number without an opposite keeps its sign, so that the parser can read it.
  CHECK(to_string(S * std::numeric_limits<std::int64_t>::min() + 7) ==
        "7 + S * -9223372036854775808");
  CHECK(to_string(floordiv(S + 1, c(2))) == "floordiv(S + 1, 2)");
  CHECK(to_string(min(S, Z)) == "min(S, Z)");
  CHECK(to_string(std::vector<Dim>{B, S, c(768)}) == "[B, S, 768]");
}

TEST_CASE_FIXTURE(DimFixture, "substitution simplifies again") {
  std::vector<Dim> replacement(2);
  replacement[1] = c(6);
  CHECK(table.substitute(floordiv(S + B * 4, c(4)), replacement) == B + 1);
  CHECK(table.substitute(Z, replacement) == Z);
}

TEST_CASE_FIXTURE(DimFixture, "refinement narrows what is known") {
  const Dim least = max(Z, c(2));
  table.refine(2, 3, 100, 6);
  CHECK(bounds(Z) == Interval{6, 96});
  CHECK(bounds(least) == Interval{6, 96});
  CHECK(max(Z, c(2)) == Z);
  CHECK(mod(Z, c(3)) == c(0));
}

TEST_CASE_FIXTURE(DimFixture, "values are checked for overflow") {
  const std::vector<std::int64_t> values{64, 512, unbounded, 8};
  CHECK(evaluate(B * S + 1, values) == 64 * 512 + 1);
  CHECK_THROWS_AS(evaluate(Z * S, values), dyn::Error);
  CHECK_THROWS_AS(evaluate(Z + S, values), dyn::Error);
  CHECK(evaluate(Z + S - B * 8, values) == unbounded);
  CHECK(evaluate(Z * S * B, std::vector<std::int64_t>{0, 512, unbounded, 8}) == 0);
}

TEST_CASE_FIXTURE(DimFixture, "a program evaluates shared parts once") {
  DimProgram program;
  const int sum = program.slot(B * S + 1), product = program.slot(B * S),
            again = program.slot(S * B);
  CHECK(product == again);
  std::vector<std::int64_t> values(static_cast<std::size_t>(program.size()));
  program.run(std::vector<std::int64_t>{3, 5, 0, 8}, values);
  CHECK(values[static_cast<std::size_t>(sum)] == 16);
  CHECK(values[static_cast<std::size_t>(product)] == 15);
}

TEST_CASE_FIXTURE(DimFixture, "symbols") {
  CHECK_THROWS_AS(table.symbol({.name = "B", .hint = std::nullopt}), dyn::Error);
  const Dim fresh = table.symbol({}), other = table.symbol({});
  CHECK(fresh != other);
  CHECK(table.find_symbol("S") == S);
  CHECK(table.find_symbol("T") == std::nullopt);
  CHECK(c(3).constant() == 3);
  CHECK(S.symbol() == 1);
}

TEST_CASE_FIXTURE(DimFixture, "expressions cannot grow without end") {
  Dim dim = S;
  CHECK_THROWS_AS(for (int i = 0; i < 100; ++i) dim = dim + floordiv(dim + 1, c(3)) * Z,
                  dyn::Error);
}

TEST_CASE_FIXTURE(DimFixture, "constants saturate") {
  CHECK(c(unbounded) + 1 == c(unbounded));
  CHECK(c(unbounded) * 2 == c(unbounded));
  CHECK(c(unbounded) * -2 == c(std::numeric_limits<std::int64_t>::min()));
}
