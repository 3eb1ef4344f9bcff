// Questions about dims, answered yes, no, or not known.

#include "graph/checked.hpp"
#include "graph/dim.hpp"

namespace dyn::graph {

namespace {

/// Nesting of min and max that an ordering proof looks into.
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

}  // namespace

std::optional<bool> prove_equal(Dim a, Dim b) {
  if (a == b) return true;
  const Dim difference = a - b;
  const Interval range = bounds(difference);
  if (range.low > 0 || range.high < 0) return false;
  if (difference.constant()) return *difference.constant() == 0;
  // Terms that are all multiples of d cannot make up for a constant that is none.
  if (difference.node()->op == DimOp::Add) {
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
