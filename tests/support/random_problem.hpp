#pragma once
// Random problems without a contraction: axes, layouts, guards, gathers and expressions.

#include <memory>

#include "tests/support/problem_builder.hpp"

namespace dyn::testing {

/// All, or those that kernels of GPUs are generated for (the others are computed on the host).
enum class RandomDtypes : unsigned char { All, Gpu };

/// Of at most some 6,000 points; every gathered index is in range. The same for the same seed.
std::unique_ptr<ProblemBuilder> random_problem(unsigned seed,
                                               RandomDtypes dtypes = RandomDtypes::All);

}  // namespace dyn::testing
