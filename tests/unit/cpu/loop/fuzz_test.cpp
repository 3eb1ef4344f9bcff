// Random problems without a contraction, all by a printed seed.

#include <doctest/doctest.h>

#include "tests/support/problems/random_problem.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/cpu/loop/fixture.hpp"

using namespace dyn::testing;

TEST_CASE("random problems give what the interpreter gives") {
  constexpr unsigned first_seed = 1000;
  const auto count = static_cast<unsigned>(test_rounds(150, 5));
  for (unsigned seed = first_seed; seed < first_seed + count; ++seed)
    check_problem(*random_problem(seed), seed, 1e-4, seed % 4 == 0);
}
