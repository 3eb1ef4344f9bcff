// Every simplification rule against plain arithmetic on random values.

#include "graph/dims/rules.hpp"

#include <map>
#include <random>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::graph;

namespace {

constexpr DimOp operators[] = {DimOp::Add, DimOp::Mul, DimOp::FloorDiv,
                               DimOp::Mod, DimOp::Min, DimOp::Max};

/// Plain arithmetic; nothing where it has no value, or one too large to compare.
std::optional<std::int64_t> plain(DimOp op, std::int64_t a, std::int64_t b) {
  if ((op == DimOp::FloorDiv || op == DimOp::Mod) && b == 0) return std::nullopt;
  constexpr std::int64_t large = std::int64_t{1} << 31;
  if (a > large || a < -large || b > large || b < -large)
    return std::nullopt;  // the product might overflow
  std::int64_t quotient = b == 0 ? 0 : a / b;
  if (b != 0 && quotient * b != a && (a < 0) != (b < 0)) --quotient;
  switch (op) {
    case DimOp::Add: return a + b;
    case DimOp::Mul: return a * b;
    case DimOp::FloorDiv: return quotient;
    case DimOp::Mod: return a - quotient * b;
    case DimOp::Min: return a < b ? a : b;
    case DimOp::Max: return a < b ? b : a;
    default: return std::nullopt;
  }
}

struct Symbols {
  DimTable table;
  std::vector<Dim> dims;
  Symbols() {
    add("A", 1, 9, 1);
    add("B", 0, 40, 4);
    add("C", -6, 6, 1);
    add("D", 2, 200, 6);
    add("E", 0, 15, 1);
  }
  void add(const char* name, std::int64_t low, std::int64_t high, std::int64_t divisor) {
    dims.push_back(table.symbol({name, low, high, divisor, std::nullopt}));
  }
  std::vector<std::int64_t> sample(std::mt19937_64& random) const {
    std::vector<std::int64_t> values;
    for (int i = 0; i < table.symbol_count(); ++i) {
      const SymbolInfo& info = table.info(i);
      std::int64_t value;
      do value = std::uniform_int_distribution<std::int64_t>(info.low, info.high)(random);
      while (value % info.divisor != 0);
      values.push_back(value);
    }
    return values;
  }
};

class Generator {
 public:
  Generator(Symbols& symbols, std::mt19937_64& random) : symbols_(symbols), random_(random) {}

  std::size_t pick(std::size_t count) { return random_() % count; }

  Dim expression(int depth) {
    if (depth == 0 || pick(5) == 0) return leaf();
    const DimOp op = operators[pick(std::size(operators))];
    return apply_rules(symbols_.table, op, expression(depth - 1), expression(depth - 1));
  }

  /// Operands for `op`: random ones, or ones that have something in common, as rules need it.
  std::pair<Dim, Dim> operands(DimOp op) {
    const bool divides = op == DimOp::FloorDiv || op == DimOp::Mod;
    if (!divides && pick(3) == 0) return quotient_and_remainder(op);
    if (op == DimOp::Mul && pick(2) == 0) return limited();
    if (op == DimOp::Add && pick(6) == 0) return shifted();
    if (op == DimOp::Add && pick(6) == 0) return part_of_order();
    Dim left = expression(static_cast<int>(pick(4)));
    if (divides && pick(2) == 0) left = left * leaf() + leaf();
    if (divides && pick(4) == 0) return nested(op);
    if (divides && pick(2) == 0) return {left, constant({1, 2, 3, 4, 6, 8, 12, -1, -4, 0})};
    if (pick(6) == 0) return {left, left};
    return {left, expression(static_cast<int>(pick(3)))};
  }

  /// A sum of quotients by constants and of terms that may cancel parts of them.
  Dim quotients() {
    const Dim x = symbols_.dims[pick(symbols_.dims.size())];
    Dim sum = leaf();
    for (std::size_t terms = 2 + pick(3); terms > 0; --terms) {
      const Dim y = pick(4) == 0 ? leaf() : x;
      if (pick(4) == 0)
        sum = sum + y * constant({-2, -1, 1, 2});
      else
        sum = sum + floordiv(y + constant({-5, 0, 1, 3}), constant({2, 3, 4, 6})) *
                        constant({-6, -4, -2, -1, 1, 2, 3, 4});
    }
    return sum;
  }

 private:
  /// c * floordiv(x, c) and mod(x, c), or their like, so that a sum or product has both.
  std::pair<Dim, Dim> quotient_and_remainder(DimOp op) {
    const Dim one = symbols_.table.constant(1), c = constant({2, 3, 4, 6, 8});
    const Dim x = pick(2) == 0 ? symbols_.dims[1] * leaf() + symbols_.dims[1] : expression(2);
    const Dim quotient = floordiv(x, c), rest = mod(x, c), factor = leaf();
    if (op == DimOp::Mul && pick(2) == 0) return {quotient * c + one, rest + one};
    if (op == DimOp::Mul) return {quotient * factor, c};
    if (pick(2) == 0) return {quotient * (c - one) * factor, quotient * factor};
    return {quotient * c * factor, rest * factor + leaf()};
  }

  /// An order of sums, and the like of it with a constant more, taken away.
  std::pair<Dim, Dim> shifted() {
    const Dim x = expression(1), y = leaf() + leaf(), c = constant({-3, 1, 2, 12}),
              factor = constant({-2, -1, 1, 3});
    const auto order = [&, least = pick(2) == 0](Dim a, Dim b) {
      return least ? min(a, b) : max(a, b);
    };
    return {order(x + c, y + c) * factor + leaf(), order(x, y) * factor * constant({-1})};
  }

  /// A size beside an order that is constant without it, and another term.
  std::pair<Dim, Dim> part_of_order() {
    const Dim x = symbols_.dims[pick(symbols_.dims.size())], other = leaf() * leaf();
    const Dim order = pick(2) == 0 ? min(constant({-3, -1}), x * -1)
                                   : max(constant({1, 5}), x * -1 + constant({2, 7}));
    return {x + other, order};
  }

  /// A sum, and the minimum of 1 and a size that may exceed it or not.
  std::pair<Dim, Dim> limited() {
    const Dim one = symbols_.table.constant(1), x = leaf(), y = leaf();
    const Dim limit = min(one, pick(3) == 0   ? x + y
                               : pick(2) == 0 ? x + constant({6, 7})
                                              : min(x, constant({1, 2, 12})));
    // An atom may be below 0, where the limit is not dropped.
    const Dim order = min(x, y + constant({-5, -2}));
    const Dim sum = pick(2) == 0 ? order : pick(2) == 0 ? x * leaf() : x + leaf();
    return {sum, limit * constant({1, 3})};
  }

  /// A division of a division.
  std::pair<Dim, Dim> nested(DimOp op) {
    const Dim c = constant({2, 3, 4}), outer = op == DimOp::Mod ? c * constant({2, 3}) : c;
    const Dim inner = apply_rules(symbols_.table, op, expression(2), outer);
    return {inner + constant({0, 1, 5, -7}), op == DimOp::Mod ? c : constant({2, 3, 5})};
  }

  Dim leaf() {
    if (pick(3) == 0) return constant({-3, -1, 0, 1, 2, 3, 4, 6, 8, 12});
    return symbols_.dims[pick(symbols_.dims.size())];
  }
  Dim constant(std::initializer_list<std::int64_t> values) {
    return symbols_.table.constant(values.begin()[pick(values.size())]);
  }

  Symbols& symbols_;
  std::mt19937_64& random_;
};

/// True where the expression's parts overflow, though those of an equal expression may not.
bool overflows(Dim dim, const std::vector<std::int64_t>& symbols) {
  try {
    evaluate(dim, symbols);
    return false;
  } catch (const dyn::Error& error) {
    return error.message().find("overflows") != std::string::npos;
  }
}

/// The value, or nothing where the expression has none for these symbols (division by zero).
std::optional<std::int64_t> value_of(Dim dim, const std::vector<std::int64_t>& symbols) {
  try {
    return evaluate(dim, symbols);
  } catch (const dyn::Error&) { return std::nullopt; }
}

/// The expression built once more from its parts.
Dim rebuild(DimTable& table, Dim dim) {
  if (dim.node()->operands.empty()) return dim;
  Dim result = rebuild(table, dim.node()->operands[0]);
  for (std::size_t i = 1; i < dim.node()->operands.size(); ++i)
    result = apply_rules(table, dim.node()->op, result, rebuild(table, dim.node()->operands[i]));
  return result;
}

}  // namespace

TEST_CASE("every rule keeps the value, and every rule is used") {
  INFO("DYN_SEED=", dyn::testing::test_seed());
  std::mt19937_64 random(dyn::testing::test_seed());
  std::map<std::string, int> used;
  constexpr int enough_rounds = 60;  // so that every rule is used
  const int rounds = dyn::testing::test_rounds(enough_rounds);
  for (int round = 0; round < rounds; ++round) {
    Symbols symbols;
    Generator generator(symbols, random);
    for (int i = 0; i < 200; ++i) {
      const DimOp op = operators[generator.pick(std::size(operators))];
      Dim a, b;
      try {
        std::tie(a, b) = generator.operands(op);
      } catch (const dyn::Error&) {
        continue;  // larger than an expression may be
      }
      for (const DimRule& rule : dim_rules(op)) {
        std::optional<Dim> result;
        try {
          result = rule.apply(symbols.table, a, b);
        } catch (const dyn::Error&) { continue; }
        if (!result) continue;
        const std::string name = std::to_string(static_cast<int>(op)) + " " + rule.name;
        ++used[name];
        for (int sample = 0; sample < 6; ++sample) {
          const std::vector<std::int64_t> values = symbols.sample(random);
          const auto x = value_of(a, values), y = value_of(b, values);
          const auto expected = x && y ? plain(op, *x, *y) : std::nullopt;
          if (!expected || overflows(*result, values)) continue;
          CAPTURE(name);
          CAPTURE(to_string(a));
          CAPTURE(to_string(b));
          CAPTURE(to_string(*result));
          CAPTURE(dyn::graph::to_string(symbols.dims));
          REQUIRE(value_of(*result, values) == expected);
        }
      }
    }
  }
  if (rounds < enough_rounds) return;
  for (DimOp op : operators)
    for (const DimRule& rule : dim_rules(op)) {
      INFO("operator ", static_cast<int>(op), ", rule ", std::string(rule.name));
      CHECK(used[std::to_string(static_cast<int>(op)) + " " + rule.name] >= 10);
    }
}

TEST_CASE("bounds, divisors and proofs hold") {
  INFO("DYN_SEED=", dyn::testing::test_seed());
  std::mt19937_64 random(dyn::testing::test_seed() + 1);
  for (int round = 0; round < dyn::testing::test_rounds(40, 5); ++round) {
    Symbols symbols;
    Generator generator(symbols, random);
    for (int i = 0; i < 100; ++i) {
      Dim a, b;
      std::optional<bool> equal, less_equal, multiple;
      try {
        a = i % 2 == 0 ? generator.expression(4) : generator.quotients();
        b = i % 4 == 1 ? generator.quotients() : generator.expression(3);
        equal = prove_equal(a, b);
        less_equal = prove_less_equal(a, b);
        multiple = prove_multiple(a, 4);
      } catch (const dyn::Error&) { continue; }
      CAPTURE(to_string(a));
      CAPTURE(to_string(b));
      for (int sample = 0; sample < 6; ++sample) {
        const std::vector<std::int64_t> values = symbols.sample(random);
        const auto x = value_of(a, values), y = value_of(b, values);
        if (!x || !y) continue;
        REQUIRE(bounds(a).low <= *x);
        REQUIRE(*x <= bounds(a).high);
        REQUIRE((known_divisor(a) == 0 ? *x == 0 : *x % known_divisor(a) == 0));
        if (equal) REQUIRE(*equal == (*x == *y));
        if (less_equal) REQUIRE(*less_equal == (*x <= *y));
        if (multiple) REQUIRE(*multiple == (*x % 4 == 0));
      }
    }
  }
}

TEST_CASE("simplification is idempotent") {
  INFO("DYN_SEED=", dyn::testing::test_seed());
  std::mt19937_64 random(dyn::testing::test_seed() + 2);
  for (int round = 0; round < dyn::testing::test_rounds(40, 5); ++round) {
    Symbols symbols;
    Generator generator(symbols, random);
    for (int i = 0; i < 100; ++i) {
      Dim dim, again;
      try {
        dim = generator.expression(5);
        again = rebuild(symbols.table, dim);
      } catch (const dyn::Error&) { continue; }
      CAPTURE(to_string(dim));
      CAPTURE(to_string(again));
      REQUIRE(dim == again);
    }
  }
}

TEST_CASE("a division leaves no quotient that is exact") {
  Symbols symbols;
  const Dim a = symbols.dims[0], b = symbols.dims[1], d = symbols.dims[3];
  const Dim half = floordiv(b, symbols.table.constant(2));
  CHECK(half * 4 == b * 2);
  CHECK(floordiv(half * d * 4 + a, symbols.table.constant(4)) ==
        floordiv(b * d * 2 + a, symbols.table.constant(4)));
  const Dim divisor = a + half;
  CHECK(mod(a * -4 + 12, divisor) == mod(half * 4 + 12, divisor));
  CHECK(to_string(mod(a * 4 + 12, divisor)) ==
        to_string(rebuild(symbols.table, mod(a * 4 + 12, divisor))));
}

TEST_CASE("a program gives what evaluate gives") {
  INFO("DYN_SEED=", dyn::testing::test_seed());
  std::mt19937_64 random(dyn::testing::test_seed() + 3);
  Symbols symbols;
  Generator generator(symbols, random);
  for (int i = 0; i < 300; ++i) {
    Dim dim;
    try {
      dim = generator.expression(4);
    } catch (const dyn::Error&) { continue; }
    const std::vector<std::int64_t> values = symbols.sample(random);
    const auto expected = value_of(dim, values);
    if (!expected) continue;
    DimProgram program;
    const int slot = program.slot(dim);
    std::vector<std::int64_t> results(static_cast<std::size_t>(program.size()));
    CAPTURE(to_string(dim));
    program.run(values, results);
    CHECK(results[static_cast<std::size_t>(slot)] == *expected);
  }
}
