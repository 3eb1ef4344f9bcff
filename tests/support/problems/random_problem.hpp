#pragma once
// Random problems without a contraction: axes, layouts, guards, gathers and expressions.

#include <memory>

#include "tests/support/problems/problem_builder.hpp"

namespace dyn::testing {

/// All problems, or those that kernels of GPUs are generated for (the host computes the others).
enum class RandomDtypes : unsigned char { All, Gpu };

/// Makes a problem of at most some 6,000 points, in which every gathered index is in range. The
/// same seed gives the same problem.
std::unique_ptr<ProblemBuilder> random_problem(unsigned seed,
                                               RandomDtypes dtypes = RandomDtypes::All);

}  // namespace dyn::testing
