#include "graph/dims/polynomial.hpp"

#include <algorithm>
#include <map>

#include "graph/dims/checked.hpp"
#include "graph/dims/interner.hpp"

namespace dyn::graph {

namespace {

int compare_atoms(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  if (a.size() != b.size()) return a.size() > b.size() ? -1 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const int order = compare(a[i], b[i]); order != 0) return order;
  return 0;
}

struct AtomsBefore {
  bool operator()(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return compare_atoms(a, b) < 0;
  }
};

/// Collects terms, adding up the coefficients of equal products.
class TermSum {
 public:
  void add(std::int64_t coefficient, const std::vector<Dim>& atoms) {
    std::int64_t& sum = sums_[atoms];
    sum = saturating_add(sum, coefficient);
  }
  Polynomial take() const {
    Polynomial result;
    for (const auto& [atoms, coefficient] : sums_)
      if (coefficient != 0) result.push_back({coefficient, atoms});
    return result;
  }

 private:
  std::map<std::vector<Dim>, std::int64_t, AtomsBefore> sums_;
};

Term to_term(Dim dim) {
  const DimNode& node = *dim.node();
  if (node.op == DimOp::Constant) return {node.value, {}};
  if (node.op != DimOp::Mul) return {1, {dim}};
  if (const auto coefficient = node.operands.back().constant())
    return {*coefficient, {node.operands.begin(), node.operands.end() - 1}};
  return {1, node.operands};
}

std::vector<Dim> merge_atoms(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> merged;
  merged.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(merged),
                     [](Dim x, Dim y) { return compare(x, y) < 0; });
  return merged;
}

/// The coefficient of the quotient when the term with `coefficient` is divided. A constant term
/// that a constant divides is rounded down, so that its remainder is in range.
std::int64_t divide_coefficient(const Term& term, const Term& leading) {
  const bool constants = term.atoms.empty() && leading.atoms.empty();
  if (constants) return floor_divide(term.coefficient, leading.coefficient);
  if (leading.coefficient == -1) return saturating_negate(term.coefficient);
  return term.coefficient / leading.coefficient;
}

}  // namespace

int compare(Dim a, Dim b) {
  if (a == b) return 0;
  const DimNode &x = *a.node(), &y = *b.node();
  if (x.op != y.op) return x.op < y.op ? -1 : 1;
  if (x.value != y.value) return x.value < y.value ? -1 : 1;
  if (x.operands.size() != y.operands.size()) return x.operands.size() < y.operands.size() ? -1 : 1;
  for (std::size_t i = 0; i < x.operands.size(); ++i)
    if (const int order = compare(x.operands[i], y.operands[i]); order != 0) return order;
  return 0;
}

bool is_saturated(const Polynomial& polynomial) {
  return std::ranges::any_of(polynomial, [](const Term& term) {
    return term.coefficient == int64_min || term.coefficient == int64_max;
  });
}

Polynomial to_polynomial(Dim dim) {
  Polynomial result;
  if (dim.node()->op == DimOp::Add)
    for (Dim operand : dim.node()->operands) result.push_back(to_term(operand));
  else if (dim.constant() != 0)
    result.push_back(to_term(dim));
  return result;
}

Dim from_term(DimTable& table, const Term& term) {
  if (term.atoms.empty()) return table.constant(term.coefficient);
  if (term.coefficient == 1 && term.atoms.size() == 1) return term.atoms[0];
  std::vector<Dim> operands = term.atoms;
  if (term.coefficient != 1) operands.push_back(table.constant(term.coefficient));
  return DimInterner::intern(table, DimOp::Mul, std::move(operands));
}

Dim from_polynomial(DimTable& table, const Polynomial& polynomial) {
  if (polynomial.empty()) return table.constant(0);
  if (polynomial.size() == 1) return from_term(table, polynomial[0]);
  std::vector<Dim> operands;
  for (const Term& term : polynomial) operands.push_back(from_term(table, term));
  return DimInterner::intern(table, DimOp::Add, std::move(operands));
}

Polynomial add(const Polynomial& a, const Polynomial& b) {
  TermSum sum;
  for (const Polynomial* side : {&a, &b})
    for (const Term& term : *side) sum.add(term.coefficient, term.atoms);
  return sum.take();
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  if (a.size() * b.size() > static_cast<std::size_t>(max_expression_size))
    DimInterner::fail_too_large();
  TermSum sum;
  for (const Term& x : a)
    for (const Term& y : b)
      sum.add(saturating_multiply(x.coefficient, y.coefficient), merge_atoms(x.atoms, y.atoms));
  return sum.take();
}

Polynomial scale(Polynomial a, std::int64_t factor) {
  if (factor == 0) return {};
  for (Term& term : a) term.coefficient = saturating_multiply(term.coefficient, factor);
  return a;
}

std::optional<std::vector<Dim>> divide_atoms(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Dim> rest;
  std::size_t used = 0;
  for (Dim atom : a) {
    if (used < b.size() && atom == b[used])
      ++used;
    else
      rest.push_back(atom);
  }
  if (used != b.size()) return std::nullopt;
  return rest;
}

Division divide(const Polynomial& dividend, const Polynomial& divisor) {
  const Term& leading = divisor.front();
  Division result;
  Polynomial left = dividend;
  while (!left.empty()) {
    const Term term = left.front();
    const auto atoms = divide_atoms(term.atoms, leading.atoms);
    const std::int64_t coefficient = atoms ? divide_coefficient(term, leading) : 0;
    if (coefficient != 0) {
      const Polynomial step{{coefficient, *atoms}};
      result.quotient = add(result.quotient, step);
      left = add(left, scale(multiply(step, divisor), -1));
    }
    // What remains of the leading term cannot be divided further.
    if (!left.empty() && compare_atoms(left.front().atoms, term.atoms) == 0) {
      result.remainder.push_back(left.front());
      left.erase(left.begin());
    }
  }
  return result;
}

Term common_factor(const Polynomial& polynomial) {
  Term factor{0, polynomial.empty() ? std::vector<Dim>{} : polynomial.front().atoms};
  for (const Term& term : polynomial) {
    factor.coefficient = common_divisor(factor.coefficient, term.coefficient);
    std::vector<Dim> both;
    std::ranges::set_intersection(factor.atoms, term.atoms, std::back_inserter(both),
                                  [](Dim x, Dim y) { return compare(x, y) < 0; });
    factor.atoms = std::move(both);
  }
  return factor;
}

Polynomial divide_exactly(const Polynomial& polynomial, const Term& factor) {
  Polynomial result;
  for (const Term& term : polynomial)
    result.push_back(
        {term.coefficient / factor.coefficient, divide_atoms(term.atoms, factor.atoms).value()});
  return result;
}

}  // namespace dyn::graph
