#pragma once
// The canonical form of a dim: a sum of integer coefficient times product of atoms. Atoms are
// symbols, floordiv, mod, min and max.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "graph/dims/dim.hpp"

namespace dyn::graph {

/// A total order on dims by structure, so that it does not depend on the order in which they were
/// made.
int compare(Dim a, Dim b);

struct Term {
  std::int64_t coefficient;
  std::vector<Dim> atoms;  ///< ascending by compare(), with repetition; empty: the constant term
  bool operator==(const Term&) const = default;
};

/// Terms with distinct products and coefficients other than 0, of higher degree first, then by
/// their atoms; the constant term is last. Graded lexicographic, thus compatible with
/// multiplication.
using Polynomial = std::vector<Term>;

/// True where a coefficient may have left the range of int64, so that equations need not hold.
bool is_saturated(const Polynomial& polynomial);

Polynomial to_polynomial(Dim dim);
/// The interned dim, without applying rules.
Dim from_polynomial(DimTable& table, const Polynomial& polynomial);
Dim from_term(DimTable& table, const Term& term);

Polynomial add(const Polynomial& a, const Polynomial& b);
Polynomial multiply(const Polynomial& a, const Polynomial& b);
Polynomial scale(Polynomial a, std::int64_t factor);

/// The atoms of `a` without those of `b`; nothing where b is no part of a.
std::optional<std::vector<Dim>> divide_atoms(const std::vector<Dim>& a, const std::vector<Dim>& b);

struct Division {
  Polynomial quotient, remainder;
};
/// dividend == quotient * divisor + remainder. Coefficients are divided toward zero, except that a
/// constant divisor leaves a constant term of the remainder between 0 and the divisor.
Division divide(const Polynomial& dividend, const Polynomial& divisor);

/// The greatest common factor of all terms: content (positive) and atoms.
Term common_factor(const Polynomial& polynomial);
/// polynomial / factor, where factor divides every term.
Polynomial divide_exactly(const Polynomial& polynomial, const Term& factor);

}  // namespace dyn::graph
