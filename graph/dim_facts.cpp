// What is known of a dim's values: bounds by interval arithmetic, and a divisor. Ends of int64 mean "no bound", and
// arithmetic saturates there.

#include <algorithm>
#include <numeric>

#include "graph/checked.hpp"
#include "graph/dim_interner.hpp"
#include "graph/dim_polynomial.hpp"

namespace dyn::graph {

namespace {

constexpr Interval everything{int64_min, int64_max};

/// A lower end at the least integer, and an upper end at the greatest, stay there whatever is added.
Interval add(Interval a, Interval b) {
  return {a.low == int64_min || b.low == int64_min ? int64_min : saturating_add(a.low, b.low),
          a.high == int64_max || b.high == int64_max ? int64_max : saturating_add(a.high, b.high)};
}

Interval multiply(Interval a, Interval b) {
  const auto [low, high] = std::minmax({saturating_multiply(a.low, b.low), saturating_multiply(a.low, b.high),
                                        saturating_multiply(a.high, b.low), saturating_multiply(a.high, b.high)});
  return {low, high};
}

Interval intersect(Interval a, Interval b) { return {std::max(a.low, b.low), std::min(a.high, b.high)}; }

/// Divisors of 0 have no value, so that only the positive ones count where none is negative.
Interval floor_divide(Interval x, Interval d) {
  if (d.low == 0) d.low = 1;
  if (d.low <= 0 || d.high < d.low) return everything;
  const std::int64_t low = x.low >= 0 ? x.low / d.high : graph::floor_divide(x.low, d.low);
  const std::int64_t high = x.high >= 0 ? x.high / d.low : graph::floor_divide(x.high, d.high);
  return {x.low == int64_min ? int64_min : low, x.high == int64_max ? int64_max : high};
}

Interval modulo(Interval x, Interval d) {
  if (d.low < 0 || d.high < 1) return everything;
  const std::int64_t high = d.high == int64_max ? int64_max : d.high - 1;
  return {0, x.low >= 0 ? std::min(x.high, high) : high};
}

Interval symbol_bounds(const SymbolInfo& info) {
  const std::int64_t low_rest = floor_modulo(info.low, info.divisor);
  const std::int64_t low = low_rest == 0 ? info.low : saturating_add(info.low, info.divisor - low_rest);
  const std::int64_t high = info.high == int64_max ? int64_max : info.high - floor_modulo(info.high, info.divisor);
  return {low, high};
}

/// A sum whose terms share atoms is bounded through its factors as well: B * 512 - B * S is B * (512 - S).
Interval factored_bounds(DimTable& table, const Polynomial& sum) {
  const Term factor = common_factor(sum);
  if (factor.atoms.empty()) return everything;
  const Dim rest = from_polynomial(table, divide_exactly(sum, factor));
  return multiply(bounds(from_term(table, factor)), bounds(rest));
}

Polynomial terms_of(const std::vector<Dim>& operands) {
  Polynomial sum;
  for (Dim operand : operands) {
    const Polynomial term = to_polynomial(operand);
    sum.insert(sum.end(), term.begin(), term.end());
  }
  return sum;
}

Interval derive_bounds(DimTable& table, DimOp op, const std::vector<Dim>& operands, std::int64_t value) {
  const auto operand = [&](std::size_t i) { return DimInterner::facts(operands[i]).bounds; };
  Interval result{value, value};
  switch (op) {
    case DimOp::Constant:
      return result;
    case DimOp::Symbol:
      return symbol_bounds(table.info(static_cast<int>(value)));
    case DimOp::Add:
      result = operand(0);
      for (std::size_t i = 1; i < operands.size(); ++i) result = add(result, operand(i));
      return intersect(result, factored_bounds(table, terms_of(operands)));
    case DimOp::Mul:
      result = operand(0);
      for (std::size_t i = 1; i < operands.size(); ++i) result = multiply(result, operand(i));
      return result;
    case DimOp::FloorDiv:
      return floor_divide(operand(0), operand(1));
    case DimOp::Mod:
      return modulo(operand(0), operand(1));
    case DimOp::Min:
      return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
    case DimOp::Max:
      return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
  }
  return everything;
}

std::int64_t derive_divisor(DimTable& table, DimOp op, const std::vector<Dim>& operands, std::int64_t value) {
  const auto operand = [&](std::size_t i) { return DimInterner::facts(operands[i]).divisor; };
  std::int64_t result = 1;
  switch (op) {
    case DimOp::Constant:
      return common_divisor(value, 0);
    case DimOp::Symbol:
      return table.info(static_cast<int>(value)).divisor;
    case DimOp::Mul:
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (__builtin_mul_overflow(result, operand(i), &result)) return 1;
      }
      return result;
    case DimOp::FloorDiv: {
      const std::optional<std::int64_t> by = operands[1].constant();
      return by && *by > 0 && operand(0) % *by == 0 ? operand(0) / *by : 1;
    }
    case DimOp::Add:
    case DimOp::Mod:
    case DimOp::Min:
    case DimOp::Max:
      result = operand(0);
      for (std::size_t i = 1; i < operands.size(); ++i) result = std::gcd(result, operand(i));
      return result;
  }
  return 1;
}

}  // namespace

DimFacts derive_facts(DimTable& table, DimOp op, const std::vector<Dim>& operands, std::int64_t value) {
  std::int64_t size = 1;
  for (Dim operand : operands) size = saturating_add(size, DimInterner::facts(operand).size);
  if (size > max_expression_size) DimInterner::fail_too_large();
  return {derive_bounds(table, op, operands, value), derive_divisor(table, op, operands, value), static_cast<int>(size)};
}

Interval bounds(Dim dim) { return DimInterner::facts(dim).bounds; }

std::int64_t known_divisor(Dim dim) { return DimInterner::facts(dim).divisor; }

}  // namespace dyn::graph
