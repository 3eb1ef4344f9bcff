// Rules of addition and multiplication. Both end in the polynomial form; before that, terms that
// belong together as quotient and remainder are joined.

#include <algorithm>
#include <cstdlib>

#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"
#include "graph/dims/polynomial.hpp"
#include "graph/dims/rules.hpp"

namespace dyn::graph {

namespace {

using MaybeDim = std::optional<Dim>;

/// The sum without term `index`, plus `replacement`.
Dim replace_term(DimTable& table, Polynomial sum, std::size_t index, Dim replacement) {
  sum.erase(sum.begin() + static_cast<std::ptrdiff_t>(index));
  return from_polynomial(table, sum) + replacement;
}

std::vector<Dim> without(const std::vector<Dim>& atoms, std::size_t index) {
  std::vector<Dim> rest = atoms;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(index));
  return rest;
}

/// k*c * floordiv(x, c) == k * x where x is a multiple of the constant c.
MaybeDim join_exact_quotient(DimTable& table, const Polynomial& sum) {
  for (std::size_t t = 0; t < sum.size(); ++t) {
    for (std::size_t i = 0; i < sum[t].atoms.size(); ++i) {
      const DimNode& atom = *sum[t].atoms[i].node();
      if (atom.op != DimOp::FloorDiv) continue;
      const std::optional<std::int64_t> c = atom.operands[1].constant();
      if (!c || *c <= 0 || sum[t].coefficient % *c != 0 ||
          known_divisor(atom.operands[0]) % *c != 0)
        continue;
      const Term factor{sum[t].coefficient / *c, without(sum[t].atoms, i)};
      return replace_term(table, sum, t, from_term(table, factor) * atom.operands[0]);
    }
  }
  return std::nullopt;
}

/// Index of the term with those atoms whose coefficient is `coefficient`.
std::optional<std::size_t> find_term(const Polynomial& sum, std::int64_t coefficient,
                                     const std::vector<Dim>& atoms) {
  const auto found = std::ranges::find_if(sum, [&](const Term& term) {
    return term.coefficient == coefficient && term.atoms == atoms;
  });
  if (found == sum.end()) return std::nullopt;
  return static_cast<std::size_t>(found - sum.begin());
}

/// The product of k * atoms and divisor * floordiv(x, divisor), as one term; nothing where divisor
/// is a sum.
std::optional<Term> quotient_term(std::int64_t k, const std::vector<Dim>& atoms, Dim x,
                                  Dim divisor) {
  const Polynomial scaled = multiply({{k, atoms}}, to_polynomial(divisor));
  const Polynomial quotient = to_polynomial(floordiv(x, divisor));
  if (scaled.size() != 1 || quotient.size() != 1) return std::nullopt;
  const Polynomial product = multiply(scaled, quotient);
  return product.front();
}

/// k * c * floordiv(x, c) + k * mod(x, c) == k * x.
MaybeDim join_quotient_and_remainder(DimTable& table, const Polynomial& sum) {
  for (std::size_t t = 0; t < sum.size(); ++t) {
    for (std::size_t i = 0; i < sum[t].atoms.size(); ++i) {
      const DimNode& atom = *sum[t].atoms[i].node();
      if (atom.op != DimOp::Mod) continue;
      const std::vector<Dim> rest = without(sum[t].atoms, i);
      const auto wanted =
          quotient_term(sum[t].coefficient, rest, atom.operands[0], atom.operands[1]);
      const auto other = wanted ? find_term(sum, wanted->coefficient, wanted->atoms) : std::nullopt;
      if (!other) continue;
      Polynomial left = sum;
      left[t].coefficient = 0;
      left[*other].coefficient = 0;
      std::erase_if(left, [](const Term& term) { return term.coefficient == 0; });
      return from_polynomial(table, left) +
             from_term(table, {sum[t].coefficient, rest}) * atom.operands[0];
    }
  }
  return std::nullopt;
}

/// True where `limit`, which is 0 or 1, is 1 wherever `atom` is not 0.
bool is_one_beside(DimTable& table, Dim limit, Dim atom) {
  return limit != atom && bounds(atom).low >= 0 &&
         prove_less_equal(min(table.constant(1), atom), limit) == true;
}

/// x * min(1, y) == x where x >= 0, and y >= 1 wherever x is not 0.
MaybeDim drop_limits(DimTable& table, Polynomial product) {
  bool dropped = false;
  for (Term& term : product) {
    for (std::size_t i = 0; i < term.atoms.size(); ++i) {
      const Dim limit = term.atoms[i];
      const bool is_limit = limit.node()->op == DimOp::Min && bounds(limit) == Interval{0, 1};
      if (!is_limit || std::ranges::none_of(
                           term.atoms, [&](Dim atom) { return is_one_beside(table, limit, atom); }))
        continue;
      term.atoms = without(term.atoms, i--);
      dropped = true;
    }
  }
  // Terms may have become alike.
  return dropped ? MaybeDim(from_polynomial(table, add(product, {}))) : std::nullopt;
}

bool is_constant(const Polynomial& sum) {
  return sum.empty() || (sum.size() == 1 && sum.front().atoms.empty());
}

/// The min (max) of a term that is one, with the factor 1 or another; nothing for other terms.
std::optional<Dim> order_of(const Term& term) {
  if (term.atoms.size() != 1) return std::nullopt;
  const DimOp op = term.atoms.front().node()->op;
  return op == DimOp::Min || op == DimOp::Max ? std::optional(term.atoms.front()) : std::nullopt;
}

/// c where min(a...) (or max) is min(b...) + c for all values, operand by operand.
std::optional<std::int64_t> shift_between(Dim a, Dim b) {
  const DimOp op = a.node()->op;
  if (b.node()->op != op) return std::nullopt;
  constexpr std::size_t most_leaves = 16;
  std::vector<Dim> left, right;
  collect_leaves(op, a, left);
  collect_leaves(op, b, right);
  if (left.size() != right.size() || left.size() > most_leaves) return std::nullopt;
  const auto difference = [](Dim x, Dim y) {
    return add(to_polynomial(x), scale(to_polynomial(y), -1));
  };
  for (const Dim leaf : left) {
    const Polynomial shift = difference(leaf, right.front());
    if (!is_constant(shift) || is_saturated(shift)) continue;
    std::vector<bool> met(left.size(), false);
    const bool all = std::ranges::all_of(right, [&](Dim other) {
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (met[i] || difference(left[i], other) != shift) continue;
        met[i] = true;
        return true;
      }
      return false;
    });
    if (all) return shift.empty() ? 0 : shift.front().coefficient;
  }
  return std::nullopt;
}

/// k * min(x + c, y + c) - k * min(x, y) == k * c, and so for max.
MaybeDim cancel_shifted(DimTable& table, const Polynomial& sum) {
  if (is_saturated(sum)) return std::nullopt;
  for (std::size_t t = 0; t < sum.size(); ++t) {
    const std::optional<Dim> order = order_of(sum[t]);
    for (std::size_t u = t + 1; order && u < sum.size(); ++u) {
      const std::optional<Dim> other = order_of(sum[u]);
      if (!other || sum[t].coefficient != -sum[u].coefficient) continue;
      const std::optional<std::int64_t> shift = shift_between(*order, *other);
      if (!shift) continue;
      Polynomial rest = sum;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(u));
      return replace_term(table, rest, t,
                          from_polynomial(table, scale({{*shift, {}}}, sum[t].coefficient)));
    }
  }
  return std::nullopt;
}

/// A min or max that is added to the rest of a sum, or taken away from it.
struct OrderInSum {
  Term term;
  DimOp op;
  Polynomial rest;
  std::vector<Dim> leaves;
};

std::vector<OrderInSum> orders_in(const Polynomial& sum) {
  std::vector<OrderInSum> orders;
  if (is_saturated(sum)) return orders;
  for (std::size_t t = 0; t < sum.size(); ++t) {
    const Term& term = sum[t];
    if (std::abs(term.coefficient) != 1 || term.atoms.size() != 1) continue;
    const DimOp op = term.atoms.front().node()->op;
    if (op != DimOp::Min && op != DimOp::Max) continue;
    OrderInSum& order = orders.emplace_back(OrderInSum{term, op, sum, {}});
    order.rest.erase(order.rest.begin() + static_cast<std::ptrdiff_t>(t));
    collect_leaves(op, term.atoms.front(), order.leaves);
  }
  return orders;
}

MaybeDim move_into_order(DimTable& table, const Polynomial& sum);

Dim moved_leaf(DimTable& table, const Polynomial& sum) {
  if (const MaybeDim joined = join_exact_quotient(table, sum)) return *joined;
  if (const MaybeDim joined = join_quotient_and_remainder(table, sum)) return *joined;
  if (const MaybeDim cancelled = cancel_shifted(table, sum)) return *cancelled;
  if (const MaybeDim deeper = move_into_order(table, sum)) return *deeper;
  return from_polynomial(table, sum);
}

/// c + min(x, y) == min(c + x, c + y), and e - min(x, y) == max(e - x, e - y) likewise, where c is
/// a constant, or one of the new operands is. A size that is cut at both ends again and again stays
/// one min or max of few operands so: max(max(s - 1, 0) - 1, 0) == max(s - 2, 0). The order of the
/// operands is as unknown as it was: nothing is proven here, since proofs add.
MaybeDim move_into_order(DimTable& table, const Polynomial& sum) {
  for (OrderInSum& order : orders_in(sum)) {
    if (order.rest.empty()) continue;
    const std::int64_t sign = order.term.coefficient;
    std::vector<Polynomial> moved;
    for (const Dim leaf : order.leaves)
      moved.push_back(add(order.rest, scale(to_polynomial(leaf), sign)));
    if (!is_constant(order.rest) && std::ranges::none_of(moved, is_constant)) continue;
    const DimOp to = (order.op == DimOp::Min) == (sign > 0) ? DimOp::Min : DimOp::Max;
    for (std::size_t i = 0; i < moved.size(); ++i) order.leaves[i] = moved_leaf(table, moved[i]);
    return order_unproven(table, to, order.leaves);
  }
  return std::nullopt;
}

/// Terms without the constant one.
Polynomial without_constant(Polynomial sum) {
  std::erase_if(sum, [](const Term& term) { return term.atoms.empty(); });
  return sum;
}

/// The same for a part of a sum that makes an operand of the min or max a constant: what else the
/// sum has does not keep the two apart, in whichever order they were added.
MaybeDim move_part_into_order(DimTable& table, const Polynomial& sum) {
  for (const OrderInSum& order : orders_in(sum)) {
    for (const Dim leaf : order.leaves) {
      const Polynomial part = without_constant(scale(to_polynomial(leaf), -order.term.coefficient));
      const Polynomial others = add(order.rest, scale(part, -1));
      if (part.empty() || others.size() + part.size() != order.rest.size()) continue;
      if (const MaybeDim joined = move_into_order(table, add(part, {order.term})))
        return *joined + from_polynomial(table, others);
    }
  }
  return std::nullopt;
}

Polynomial sum_of(Dim a, Dim b) { return add(to_polynomial(a), to_polynomial(b)); }
Polynomial product_of(Dim a, Dim b) { return multiply(to_polynomial(a), to_polynomial(b)); }

MaybeDim add_exact_quotient(DimTable& table, Dim a, Dim b) {
  return join_exact_quotient(table, sum_of(a, b));
}
MaybeDim add_quotient_and_remainder(DimTable& table, Dim a, Dim b) {
  return join_quotient_and_remainder(table, sum_of(a, b));
}
MaybeDim add_shifted(DimTable& table, Dim a, Dim b) { return cancel_shifted(table, sum_of(a, b)); }
MaybeDim add_into_order(DimTable& table, Dim a, Dim b) {
  return move_into_order(table, sum_of(a, b));
}
MaybeDim add_part_into_order(DimTable& table, Dim a, Dim b) {
  return move_part_into_order(table, sum_of(a, b));
}
MaybeDim add_polynomial(DimTable& table, Dim a, Dim b) {
  return from_polynomial(table, sum_of(a, b));
}

MaybeDim multiply_exact_quotient(DimTable& table, Dim a, Dim b) {
  return join_exact_quotient(table, product_of(a, b));
}
MaybeDim multiply_quotient_and_remainder(DimTable& table, Dim a, Dim b) {
  return join_quotient_and_remainder(table, product_of(a, b));
}
MaybeDim multiply_limit(DimTable& table, Dim a, Dim b) {
  return drop_limits(table, product_of(a, b));
}
MaybeDim multiply_polynomial(DimTable& table, Dim a, Dim b) {
  return from_polynomial(table, product_of(a, b));
}

constexpr DimRule add_table[] = {
    {"exact quotient", add_exact_quotient},
    {"quotient and remainder", add_quotient_and_remainder},
    {"shifted min or max", add_shifted},
    {"into min or max", add_into_order},
    {"part into min or max", add_part_into_order},
    {"polynomial", add_polynomial},
};

constexpr DimRule multiply_table[] = {
    {"exact quotient", multiply_exact_quotient},
    {"quotient and remainder", multiply_quotient_and_remainder},
    {"limit of one", multiply_limit},
    {"polynomial", multiply_polynomial},
};

}  // namespace

std::span<const DimRule> add_rules() { return add_table; }
std::span<const DimRule> multiply_rules() { return multiply_table; }

}  // namespace dyn::graph
