// Rules of floordiv and mod. Both round toward minus infinity: x == d * floordiv(x, d) + mod(x, d).

#include <algorithm>
#include <numeric>

#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"
#include "graph/dims/polynomial.hpp"
#include "graph/dims/rules.hpp"

namespace dyn::graph {

namespace {

using MaybeDim = std::optional<Dim>;

bool is_positive(Dim dim) { return bounds(dim).low > 0; }

std::optional<std::int64_t> positive_constant(Dim dim) {
  const std::optional<std::int64_t> constant = dim.constant();
  return constant && *constant > 0 ? constant : std::nullopt;
}

/// The polynomial by the rules of addition: a division leaves terms of other coefficients, in which
/// a quotient may have become exact.
Dim simplified(DimTable& table, const Polynomial& polynomial) {
  return from_polynomial(table, polynomial) + table.constant(0);
}

/// x and divisor without a common positive factor: x == factor * reduced_x + rest, divisor ==
/// factor * reduced_divisor, 0 <= rest < factor. Then floordiv(x, divisor) == floordiv(reduced_x,
/// reduced_divisor), and mod(x, divisor) == factor * mod(reduced_x, reduced_divisor) + rest.
struct Reduced {
  Dim x, divisor, factor;
  std::int64_t rest = 0;
};

/// For a constant divisor the constant term of x need not be a multiple of the factor.
std::optional<Reduced> reduce_by_constant(DimTable& table, Polynomial x, std::int64_t divisor) {
  std::int64_t constant = 0;
  if (!x.empty() && x.back().atoms.empty()) {
    constant = x.back().coefficient;
    x.pop_back();
  }
  const std::int64_t factor = common_divisor(common_factor(x).coefficient, divisor);
  if (x.empty() || factor == 1) return std::nullopt;
  const Polynomial reduced = divide_exactly(x, {factor, {}});
  return Reduced{simplified(table, reduced) + floor_divide(constant, factor),
                 table.constant(divisor / factor), table.constant(factor),
                 floor_modulo(constant, factor)};
}

std::optional<Reduced> reduce(DimTable& table, Dim x, Dim divisor) {
  const Polynomial dividend = to_polynomial(x), by = to_polynomial(divisor);
  if (dividend.empty() || by.empty()) return std::nullopt;
  if (const auto constant = positive_constant(divisor))
    return reduce_by_constant(table, dividend, *constant);
  const Term a = common_factor(dividend), b = common_factor(by);
  Term factor{std::gcd(a.coefficient, b.coefficient), {}};
  std::ranges::set_intersection(a.atoms, b.atoms, std::back_inserter(factor.atoms),
                                [](Dim p, Dim q) { return compare(p, q) < 0; });
  std::erase_if(factor.atoms, [](Dim atom) { return !is_positive(atom); });
  if (factor.coefficient == 1 && factor.atoms.empty()) return std::nullopt;
  return Reduced{simplified(table, divide_exactly(dividend, factor)),
                 simplified(table, divide_exactly(by, factor)), simplified(table, {factor})};
}

/// x == quotient * divisor + remainder with a quotient other than 0, by polynomial division.
struct Parts {
  Dim quotient, remainder;
};
std::optional<Parts> split_quotient(DimTable& table, Dim x, Dim divisor) {
  if (!is_positive(divisor)) return std::nullopt;
  const Division division = divide(to_polynomial(x), to_polynomial(divisor));
  if (division.quotient.empty() || is_saturated(division.quotient) ||
      is_saturated(division.remainder))
    return std::nullopt;
  return Parts{simplified(table, division.quotient), simplified(table, division.remainder)};
}

/// x == multiples + rest, where every term of multiples is known to be a multiple of the constant.
std::optional<Parts> split_multiples(DimTable& table, Dim x, std::int64_t constant) {
  Polynomial multiples, rest;
  for (const Term& term : to_polynomial(x)) {
    const bool is_multiple =
        !term.atoms.empty() && known_divisor(from_term(table, term)) % constant == 0;
    (is_multiple ? multiples : rest).push_back(term);
  }
  if (multiples.empty()) return std::nullopt;
  return Parts{simplified(table, multiples), simplified(table, rest)};
}

/// The one value that floordiv(x, divisor) has over the bounds of x.
std::optional<std::int64_t> only_quotient(Dim x, Dim divisor) {
  const Interval range = bounds(x);
  if (range.low == int64_min || range.high == int64_max) return std::nullopt;
  if (const auto constant = positive_constant(divisor)) {
    const std::int64_t low = floor_divide(range.low, *constant);
    return low == floor_divide(range.high, *constant) ? std::optional(low) : std::nullopt;
  }
  return range.low >= 0 && bounds(divisor).low > range.high ? std::optional<std::int64_t>(0)
                                                            : std::nullopt;
}

// floordiv

MaybeDim floordiv_constants(DimTable& table, Dim a, Dim b) {
  if (!a.constant() || !b.constant() || b.constant() == 0) return std::nullopt;
  return table.constant(floor_divide(*a.constant(), *b.constant()));
}

MaybeDim floordiv_by_one(DimTable&, Dim a, Dim b) {
  return b.constant() == 1 ? MaybeDim(a) : std::nullopt;
}

MaybeDim floordiv_by_negative(DimTable&, Dim a, Dim b) {
  if (b.constant().value_or(0) >= 0 || b.constant() == int64_min) return std::nullopt;
  return floordiv(a * -1, b * -1);
}

MaybeDim floordiv_common_factor(DimTable& table, Dim a, Dim b) {
  const std::optional<Reduced> reduced = reduce(table, a, b);
  return reduced ? MaybeDim(floordiv(reduced->x, reduced->divisor)) : std::nullopt;
}

MaybeDim floordiv_polynomial(DimTable& table, Dim a, Dim b) {
  const std::optional<Parts> parts = split_quotient(table, a, b);
  return parts ? MaybeDim(parts->quotient + floordiv(parts->remainder, b)) : std::nullopt;
}

/// floordiv(x + y, c) == floordiv(x, c) + floordiv(y, c) where x is a multiple of c, term by term.
MaybeDim floordiv_multiples(DimTable& table, Dim a, Dim b) {
  const auto constant = positive_constant(b);
  const std::optional<Parts> parts = constant ? split_multiples(table, a, *constant) : std::nullopt;
  if (!parts) return std::nullopt;
  const Polynomial multiples = to_polynomial(parts->quotient);
  const bool single = multiples.size() == 1 && parts->remainder.constant() == 0;
  if (single) {
    const Term& term = multiples[0];
    const Dim product = from_term(table, {1, term.atoms});
    if (term.coefficient == 1 || known_divisor(product) % *constant != 0) return std::nullopt;
    return floordiv(product, b) * term.coefficient;
  }
  Dim sum = floordiv(parts->remainder, b);
  for (const Term& term : multiples) sum = sum + floordiv(from_term(table, term), b);
  return sum;
}

MaybeDim floordiv_range(DimTable& table, Dim a, Dim b) {
  const std::optional<std::int64_t> quotient = only_quotient(a, b);
  return quotient ? MaybeDim(table.constant(*quotient)) : std::nullopt;
}

/// floordiv(floordiv(x, d) + k, e) == floordiv(x + k * d, d * e) for positive d and e.
MaybeDim floordiv_nested(DimTable& table, Dim a, Dim b) {
  Polynomial sum = to_polynomial(a);
  Dim offset = table.constant(0);
  if (sum.size() == 2 && sum.back().atoms.empty()) {
    offset = table.constant(sum.back().coefficient);
    sum.pop_back();
  }
  if (sum.size() != 1 || sum[0].coefficient != 1 || sum[0].atoms.size() != 1) return std::nullopt;
  const DimNode& inner = *sum[0].atoms[0].node();
  if (inner.op != DimOp::FloorDiv || !is_positive(inner.operands[1]) || !is_positive(b))
    return std::nullopt;
  return floordiv(inner.operands[0] + offset * inner.operands[1], inner.operands[1] * b);
}

// mod

MaybeDim mod_constants(DimTable& table, Dim a, Dim b) {
  if (!a.constant() || !b.constant() || b.constant() == 0) return std::nullopt;
  return table.constant(floor_modulo(*a.constant(), *b.constant()));
}

MaybeDim mod_by_one(DimTable& table, Dim, Dim b) {
  return b.constant() == 1 ? MaybeDim(table.constant(0)) : std::nullopt;
}

MaybeDim mod_by_negative(DimTable&, Dim a, Dim b) {
  if (b.constant().value_or(0) >= 0 || b.constant() == int64_min) return std::nullopt;
  return mod(a * -1, b * -1) * -1;
}

MaybeDim mod_common_factor(DimTable& table, Dim a, Dim b) {
  const std::optional<Reduced> reduced = reduce(table, a, b);
  return reduced ? MaybeDim(reduced->factor * mod(reduced->x, reduced->divisor) + reduced->rest)
                 : std::nullopt;
}

MaybeDim mod_polynomial(DimTable& table, Dim a, Dim b) {
  const std::optional<Parts> parts = split_quotient(table, a, b);
  return parts ? MaybeDim(mod(parts->remainder, b)) : std::nullopt;
}

MaybeDim mod_multiples(DimTable& table, Dim a, Dim b) {
  const auto constant = positive_constant(b);
  const std::optional<Parts> parts = constant ? split_multiples(table, a, *constant) : std::nullopt;
  return parts ? MaybeDim(mod(parts->remainder, b)) : std::nullopt;
}

MaybeDim mod_range(DimTable&, Dim a, Dim b) {
  const std::optional<std::int64_t> quotient = only_quotient(a, b);
  return quotient ? MaybeDim(a - b * *quotient) : std::nullopt;
}

/// mod(k * mod(x, m) + y, c) == mod(k * x + y, c) where the constant m is a multiple of c.
MaybeDim mod_nested(DimTable&, Dim a, Dim b) {
  const auto c = positive_constant(b);
  if (!c) return std::nullopt;
  for (const Term& term : to_polynomial(a)) {
    if (term.atoms.size() != 1 || term.atoms[0].node()->op != DimOp::Mod) continue;
    const DimNode& inner = *term.atoms[0].node();
    const auto m = positive_constant(inner.operands[1]);
    if (m && *m % *c == 0)
      return mod(a + (inner.operands[0] - term.atoms[0]) * term.coefficient, b);
  }
  return std::nullopt;
}

constexpr DimRule floordiv_table[] = {
    {"constants", floordiv_constants},
    {"by one", floordiv_by_one},
    {"by a negative", floordiv_by_negative},
    {"common factor", floordiv_common_factor},
    {"polynomial quotient", floordiv_polynomial},
    {"known multiples", floordiv_multiples},
    {"one value in range", floordiv_range},
    {"nested", floordiv_nested},
};

constexpr DimRule mod_table[] = {
    {"constants", mod_constants},
    {"by one", mod_by_one},
    {"by a negative", mod_by_negative},
    {"common factor", mod_common_factor},
    {"polynomial quotient", mod_polynomial},
    {"known multiples", mod_multiples},
    {"one quotient in range", mod_range},
    {"nested", mod_nested},
};

}  // namespace

std::span<const DimRule> floordiv_rules() { return floordiv_table; }
std::span<const DimRule> mod_rules() { return mod_table; }

}  // namespace dyn::graph
