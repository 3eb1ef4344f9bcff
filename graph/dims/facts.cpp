// Interval arithmetic bounds a dim's values, and a divisor tells which they can be. Ends of int64
// mean "no bound", and arithmetic saturates there.

#include <algorithm>
#include <numeric>
#include <optional>

#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"
#include "graph/dims/polynomial.hpp"

namespace dyn::graph {

namespace {

constexpr Interval everything{int64_min, int64_max};

/// A lower end at the least integer, and an upper end at the greatest, stay there whatever is
/// added.
Interval interval_sum(Interval a, Interval b) {
  return {a.low == int64_min || b.low == int64_min ? int64_min : saturating_add(a.low, b.low),
          a.high == int64_max || b.high == int64_max ? int64_max : saturating_add(a.high, b.high)};
}

Interval interval_product(Interval a, Interval b) {
  const auto [low, high] =
      std::minmax({saturating_multiply(a.low, b.low), saturating_multiply(a.low, b.high),
                   saturating_multiply(a.high, b.low), saturating_multiply(a.high, b.high)});
  return {low, high};
}

Interval intersect(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

/// Divisors of 0 have no value, so that only the positive ones count where none is negative.
Interval interval_quotient(Interval x, Interval d) {
  if (d.low == 0) d.low = 1;
  if (d.low <= 0 || d.high < d.low) return everything;
  const std::int64_t low = x.low >= 0 ? x.low / d.high : floor_divide(x.low, d.low);
  const std::int64_t high = x.high >= 0 ? x.high / d.low : floor_divide(x.high, d.high);
  return {x.low == int64_min ? int64_min : low, x.high == int64_max ? int64_max : high};
}

Interval modulo(Interval x, Interval d) {
  if (d.low < 0 || d.high < 1) return everything;
  const std::int64_t high = d.high == int64_max ? int64_max : d.high - 1;
  return {0, x.low >= 0 ? std::min(x.high, high) : high};
}

Interval symbol_bounds(const SymbolInfo& info) {
  const std::int64_t low_rest = floor_modulo(info.low, info.divisor);
  const std::int64_t low =
      low_rest == 0 ? info.low : saturating_add(info.low, info.divisor - low_rest);
  const std::int64_t high =
      info.high == int64_max ? int64_max : info.high - floor_modulo(info.high, info.divisor);
  return {low, high};
}

/// A sum whose terms share atoms is bounded through its factors as well: B * 512 - B * S is B *
/// (512 - S).
Interval factored_bounds(DimTable& table, const Polynomial& sum) {
  const Term factor = common_factor(sum);
  if (factor.atoms.empty()) return everything;
  const Dim rest = from_polynomial(table, divide_exactly(sum, factor));
  return interval_product(bounds(from_term(table, factor)), bounds(rest));
}

/// x and the constant c where the term is some multiple of floordiv(x, c).
struct Quotient {
  Dim x;
  std::int64_t divisor;
};
std::optional<Quotient> quotient_of(const Term& term) {
  if (term.atoms.size() != 1 || term.atoms[0].node()->op != DimOp::FloorDiv) return std::nullopt;
  const std::vector<Dim>& operands = term.atoms[0].node()->operands;
  const std::optional<std::int64_t> divisor = operands[1].constant();
  return divisor && *divisor > 0 ? std::optional(Quotient{operands[0], *divisor}) : std::nullopt;
}

/// Bounds the difference of two terms k * floordiv(y, c) - k * floordiv(x, c):
/// floordiv(y - x, c) <= difference / k <= -floordiv(x - y, c).
Interval difference_of_quotients(Dim y, Dim x, std::int64_t divisor, std::int64_t k) {
  const Interval range = bounds(y - x);
  const std::int64_t low = range.low == int64_min ? int64_min : floor_divide(range.low, divisor);
  const std::int64_t high =
      range.high == int64_max
          ? int64_max
          : saturating_negate(floor_divide(saturating_negate(range.high), divisor));
  return interval_product({low, high}, {k, k});
}

/// A sum with quotients by constants: two of opposite sign by the same divisor are bounded by the
/// difference of their dividends, and k * g * floordiv(x, m * g) is k * floordiv(x, m) - k *
/// mod(floordiv(x, m), g), whose first part may cancel other terms.
Interval quotient_bounds(DimTable& table, Polynomial sum) {
  constexpr std::size_t most_terms = 12;  // each pair is looked at, and makes dims
  if (sum.size() > most_terms || is_saturated(sum)) return everything;
  Polynomial rest;
  Interval taken{0, 0};
  bool found = false;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const Term& term = sum[i];
    const std::optional<Quotient> quotient = quotient_of(term);
    const auto opposite = [&](const Term& other) {
      const std::optional<Quotient> theirs = quotient_of(other);
      return theirs && theirs->divisor == quotient->divisor &&
             other.coefficient == -term.coefficient;
    };
    const auto partner = quotient ? std::find_if(sum.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                                 sum.end(), opposite)
                                  : sum.end();
    if (partner != sum.end()) {
      taken = interval_sum(taken, difference_of_quotients(quotient->x, quotient_of(*partner)->x,
                                                          quotient->divisor, term.coefficient));
      sum.erase(partner);
      found = true;
    } else if (const std::int64_t common =
                   quotient ? common_divisor(term.coefficient, quotient->divisor) : 1;
               common > 1) {
      const std::int64_t k = term.coefficient / common;
      rest = add(
          rest,
          scale(to_polynomial(floordiv(quotient->x, table.constant(quotient->divisor / common))),
                k));
      taken = interval_sum(taken, interval_product({0, common - 1}, {-k, -k}));
      found = true;
    } else {
      rest = add(rest, {term});
    }
  }
  return found && !is_saturated(rest) ? interval_sum(bounds(from_polynomial(table, rest)), taken)
                                      : everything;
}

/// rest + floordiv(x, c) == floordiv(c * rest + x, c), whose dividend may have terms that cancel;
/// the negative of rest - floordiv(x, c) may have such terms too.
Interval joined_bounds(DimTable& table, const Polynomial& sum) {
  constexpr std::ptrdiff_t most_quotients = 3;  // each of them makes a sum of the others
  const auto is_single = [](const Term& term) {
    return (term.coefficient == 1 || term.coefficient == -1) && quotient_of(term);
  };
  if (is_saturated(sum) || std::ranges::count_if(sum, is_single) > most_quotients)
    return everything;
  Interval result = everything;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (!is_single(sum[i])) continue;
    const Quotient quotient = *quotient_of(sum[i]);
    Polynomial rest = sum;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    const std::int64_t sign = sum[i].coefficient;
    const Polynomial dividend =
        add(scale(rest, saturating_multiply(sign, quotient.divisor)), to_polynomial(quotient.x));
    if (is_saturated(dividend)) continue;
    const Interval joined = interval_quotient(bounds(from_polynomial(table, dividend)),
                                              {quotient.divisor, quotient.divisor});
    result = intersect(result, interval_product(joined, {sign, sign}));
  }
  return result;
}

Polynomial terms_of(const std::vector<Dim>& operands) {
  Polynomial sum;
  for (Dim operand : operands) {
    const Polynomial term = to_polynomial(operand);
    sum.insert(sum.end(), term.begin(), term.end());
  }
  return sum;
}

Interval sum_bounds(DimTable& table, const std::vector<Dim>& operands) {
  Interval result = bounds(operands[0]);
  for (std::size_t i = 1; i < operands.size(); ++i)
    result = interval_sum(result, bounds(operands[i]));
  const Polynomial sum = terms_of(operands);
  return intersect(intersect(result, factored_bounds(table, sum)),
                   intersect(quotient_bounds(table, sum), joined_bounds(table, sum)));
}

Interval derive_bounds(DimTable& table, DimOp op, const std::vector<Dim>& operands,
                       std::int64_t value) {
  const auto operand = [&](std::size_t i) { return DimInterner::facts(operands[i]).bounds; };
  Interval result{value, value};
  switch (op) {
    case DimOp::Constant: return result;
    case DimOp::Symbol: return symbol_bounds(table.info(static_cast<int>(value)));
    case DimOp::Add: return sum_bounds(table, operands);
    case DimOp::Mul:
      result = operand(0);
      for (std::size_t i = 1; i < operands.size(); ++i)
        result = interval_product(result, operand(i));
      return result;
    case DimOp::Named: return operand(0);
    case DimOp::FloorDiv: return interval_quotient(operand(0), operand(1));
    case DimOp::Mod: return modulo(operand(0), operand(1));
    case DimOp::Min:
      return {std::min(operand(0).low, operand(1).low), std::min(operand(0).high, operand(1).high)};
    case DimOp::Max:
      return {std::max(operand(0).low, operand(1).low), std::max(operand(0).high, operand(1).high)};
  }
  return everything;
}

std::int64_t derive_divisor(DimTable& table, DimOp op, const std::vector<Dim>& operands,
                            std::int64_t value) {
  const auto operand = [&](std::size_t i) { return DimInterner::facts(operands[i]).divisor; };
  std::int64_t result = 1;
  switch (op) {
    case DimOp::Constant: return common_divisor(value, 0);
    case DimOp::Symbol: return table.info(static_cast<int>(value)).divisor;
    case DimOp::Named: return operand(0);
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

DimFacts derive_facts(DimTable& table, DimOp op, const std::vector<Dim>& operands,
                      std::int64_t value) {
  std::int64_t size = 1;
  bool has_names = op == DimOp::Named;
  for (Dim operand : operands) {
    const DimFacts& facts = DimInterner::facts(operand);
    if (op != DimOp::Named) size = saturating_add(size, facts.size);
    has_names = has_names || facts.has_names;
  }
  if (size > max_expression_size) DimInterner::fail_too_large();
  return {derive_bounds(table, op, operands, value), derive_divisor(table, op, operands, value),
          static_cast<int>(size), has_names};
}

Interval bounds(Dim dim) { return DimInterner::facts(dim).bounds; }

std::int64_t known_divisor(Dim dim) { return DimInterner::facts(dim).divisor; }

}  // namespace dyn::graph
