// Questions about dims, answered yes, no, or not known.

#include <cstdlib>

#include "graph/dims/checked.hpp"
#include "graph/dims/dim.hpp"
#include "graph/dims/polynomial.hpp"

namespace dyn::graph {

namespace {

/// An ordering proof looks into min and max nested this deep.
constexpr int max_proof_depth = 4;

bool proves_less_equal(Dim a, Dim b, int depth) {
  if (a == b || bounds(a).high <= bounds(b).low || bounds(b - a).low >= 0) return true;
  if (depth == 0) return false;
  const auto below = [&](Dim x, Dim y) { return proves_less_equal(x, y, depth - 1); };
  const std::vector<Dim>&of_a = a.node()->operands, &of_b = b.node()->operands;
  if (a.node()->op == DimOp::Max) return below(of_a[0], b) && below(of_a[1], b);
  if (b.node()->op == DimOp::Min) return below(a, of_b[0]) && below(a, of_b[1]);
  if (a.node()->op == DimOp::Min && (below(of_a[0], b) || below(of_a[1], b))) return true;
  return b.node()->op == DimOp::Max && (below(a, of_b[0]) || below(a, of_b[1]));
}

/// True where the sum is never 0, since its constant and the order of its other terms agree:
/// max(0, x) - max(0, x - 2) + 1 is positive.
bool is_never_zero(DimTable& table, Polynomial sum) {
  if (sum.size() < 3 || !sum.back().atoms.empty()) return false;
  const bool is_positive = sum.back().coefficient > 0;
  sum.pop_back();
  Polynomial larger, smaller;
  for (Term& term : sum) {
    if (term.coefficient == int64_min || term.coefficient == int64_max)
      return false;  // a saturated coefficient may stand for a larger one
    const bool adds = (term.coefficient > 0) == is_positive;
    term.coefficient = std::abs(term.coefficient);
    (adds ? larger : smaller).push_back(term);
  }
  return proves_less_equal(from_polynomial(table, smaller), from_polynomial(table, larger),
                           max_proof_depth);
}

}  // namespace

std::optional<bool> prove_equal(Dim a, Dim b) {
  if (a == b) return true;
  const Dim difference = a - b;
  const Interval range = bounds(difference);
  if (range.low > 0 || range.high < 0) return false;
  if (difference.constant()) return *difference.constant() == 0;
  // Terms that are all multiples of d cannot make up for a constant that is none.
  if (difference.node()->op == DimOp::Add) {
    if (is_never_zero(a.table(), to_polynomial(difference))) return false;
    if (const auto constant = difference.node()->operands.back().constant()) {
      const std::int64_t divisor = known_divisor(difference - *constant);
      if (divisor > 0 && *constant % divisor != 0) return false;
    }
  }
  return std::nullopt;
}

std::optional<bool> prove_multiple(Dim dim, std::int64_t factor) {
  if (known_divisor(dim) % factor == 0) return true;
  const Interval rest = bounds(mod(dim, dim.table().constant(factor)));
  if (rest.low > 0) return false;
  if (rest.high == 0) return true;
  return std::nullopt;
}

std::optional<bool> prove_less_equal(Dim a, Dim b) {
  if (proves_less_equal(a, b, max_proof_depth)) return true;
  if (proves_less_equal(b + 1, a, max_proof_depth)) return false;
  return std::nullopt;
}

std::optional<bool> prove_less(Dim a, Dim b) {
  const std::optional<bool> reverse = prove_less_equal(b, a);
  if (reverse) return !*reverse;
  return std::nullopt;
}

}  // namespace dyn::graph
