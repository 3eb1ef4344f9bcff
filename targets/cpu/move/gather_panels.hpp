#pragma once
// Tied embeddings: a table that a contraction reads in panels is gathered from the panels, so that
// it is in memory once.

#include <cstdint>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::cpu {

/// Makes gathering operands read panels of `panel` columns where contractions read their buffer
/// only so, through one view, whose columns are what is gathered, and where nothing else reads it.
/// To be called when the operands of contractions have been marked.
void gather_from_panels(std::vector<rkernel::Problem>& problems, std::int64_t panel);

}  // namespace dyn::cpu
