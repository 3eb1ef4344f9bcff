#pragma once
// Heads that share keys and values, as rows of one tile: where there is one query, a group of heads
// reads its keys once.

#include <optional>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// The same problem for one query in each head, with the heads of the innermost batch axis as
/// queries: the two axes change places. A single query sees all keys, so it is not causal. Nothing
/// where keys and values may vary along that axis, where it never has several heads, where there
/// are always several queries, or where an operand has guards.
std::optional<rkernel::Problem> heads_as_rows(const rkernel::Problem& problem);

}  // namespace dyn::ptx
