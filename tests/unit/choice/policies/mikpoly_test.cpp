// MikPoly's search with bounds against all of its programs.

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

std::int64_t up(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

double region_seconds(const FakeKernels& kernels, std::size_t kernel, const ProductShape& shape,
                      std::int64_t rows) {
  const MicroKernel block = kernels[kernel];
  const std::int64_t tasks = shape.batch * up(rows, block.m) * up(shape.n, block.n);
  return static_cast<double>(up(tasks, kernels.units())) *
         kernels.task_seconds(kernel, up(shape.k, block.k) * block.k);
}

// The rows at which a first kernel may end: the most that each number of waves can hold, for the
// four largest that leave something.
std::set<std::int64_t> cuts_of(const FakeKernels& kernels, std::size_t kernel,
                               const ProductShape& shape) {
  const MicroKernel block = kernels[kernel];
  std::set<std::int64_t> cuts;
  const std::int64_t of_a_row = shape.batch * up(shape.n, block.n);
  for (std::int64_t waves = 1;
       waves <= shape.batch * up(shape.m, block.m) * up(shape.n, block.n) / kernels.units();
       ++waves) {
    std::int64_t rows = 0;
    while ((rows + 1) * of_a_row <= waves * kernels.units() && (rows + 1) * block.m < shape.m)
      ++rows;
    if (rows > 0) cuts.insert(rows * block.m);
  }
  while (cuts.size() > 4) cuts.erase(cuts.begin());
  return cuts;
}

double least_of_all(const FakeKernels& kernels, const ProductShape& shape) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t first = 0; first < kernels.size(); ++first) {
    least = std::min(least, region_seconds(kernels, first, shape, shape.m));
    for (const std::int64_t cut : cuts_of(kernels, first, shape)) {
      for (std::size_t second = 0; second < kernels.size(); ++second) {
        least = std::min(least, region_seconds(kernels, first, shape, cut) +
                                    region_seconds(kernels, second, shape, shape.m - cut));
      }
    }
  }
  return least;
}

}  // namespace

TEST_CASE(
    "mikpoly fills waves with one kernel, and computes the rest with another: its own example") {
  // Section 6: 4096 x 1024 on 108 units. Kernel 0: 16 rows of 8 blocks, so that 12 rows are 96
  // tasks of one wave, and the rest needs a second one.
  const FakeKernels kernels(
      108, {{.block = {256, 128, 32}, .step = 2}, {.block = {64, 128, 32}, .step = 0.7}});
  const auto policy = make_paper_policy(Policy::MikPoly, kernels, 16);
  const ProductShape shape{1, 4096, 1024, 4096};
  const KernelProgram chosen = policy->choose(shape);
  REQUIRE(chosen.regions.size() == 2);
  // 13 rows of 8 blocks are 104 of 108 places.
  CHECK(chosen.regions[0] == KernelRegion{0, 13 * 256, 0, 1024, 0});
  CHECK(chosen.regions[1] == KernelRegion{13 * 256, 4096 - 13 * 256, 0, 1024, 1});
  // 128 steps of 2 seconds, then 12 x 8 tasks in one wave of 128 steps of 0.7; one kernel alone:
  // two waves of 256, or five of 89.6.
  CHECK(chosen.seconds.value() == doctest::Approx(256 + 89.6));
  const std::vector<KernelProgram> programs = all_programs(*policy, shape);
  REQUIRE(programs.size() >= 2);
  CHECK(programs[0].seconds.value() == doctest::Approx(512));
  CHECK(programs[1].seconds.value() == doctest::Approx(448));
  CHECK(make_paper_policy(Policy::MikPoly, kernels, 16, Partition::Whole)
            ->choose(shape)
            .seconds.value() == doctest::Approx(448));
}

TEST_CASE("mikpoly counts steps of the reduction that are not full as whole ones") {
  const FakeKernels kernels(1, {{.block = {8, 16, 32}, .fixed = 3, .step = 2}});
  const auto policy = make_paper_policy(Policy::MikPoly, kernels, 16);
  CHECK(policy->choose({1, 8, 16, 33}).seconds.value() == doctest::Approx(3 + 2 * 2));
  CHECK(policy->choose({1, 8, 16, 0}).seconds.value() == doctest::Approx(3));
  CHECK(policy->choose({2, 9, 17, 1}).seconds.value() == doctest::Approx(2 * 2 * 2 * (3 + 2)));
}

TEST_CASE("mikpoly's bounds leave out nothing that is cheaper") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  int in_two = 0;
  for (int round = 0; round < 60; ++round) {
    const FakeKernels kernels = random_kernels(random, 16);
    const auto policy = make_paper_policy(Policy::MikPoly, kernels, 16);
    for (int i = 0; i < 12; ++i) {
      const ProductShape shape = random_shape(random, i < 8 ? 600 : 3000);
      CAPTURE(round);
      CAPTURE(shape.batch);
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      CAPTURE(shape.k);
      const KernelProgram chosen = policy->choose(shape);
      in_two += chosen.regions.size() == 2;
      CHECK(chosen.seconds.value() == doctest::Approx(least_of_all(kernels, shape)).epsilon(1e-12));
    }
  }
  CHECK(in_two > 20);
  MESSAGE(in_two << " of 720 shapes are best in two regions");
}
