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
                      std::int64_t m, std::int64_t n) {
  const MicroKernel block = kernels[kernel];
  const std::int64_t tasks = shape.batch * up(m, block.m) * up(n, block.n);
  return static_cast<double>(up(tasks, kernels.units())) *
         kernels.task_seconds(kernel, up(shape.k, block.k) * block.k);
}

double best_of_region(const FakeKernels& kernels, const ProductShape& shape, std::int64_t m,
                      std::int64_t n) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
    least = std::min(least, region_seconds(kernels, kernel, shape, m, n));
  return least;
}

// Where a first kernel may end along an axis of `extent` whose blocks lie side by side `across`:
// the most blocks that each number of waves can hold, for the `most` largest that leave something.
std::set<std::int64_t> cuts_of(std::int64_t extent, std::int64_t block, std::int64_t across,
                               std::int64_t units, std::size_t most) {
  std::set<std::int64_t> cuts;
  for (std::int64_t waves = 1; waves <= up(extent, block) * across / units; ++waves) {
    std::int64_t count = 0;
    while ((count + 1) * across <= waves * units && (count + 1) * block < extent) ++count;
    if (count > 0) cuts.insert(count * block);
  }
  while (cuts.size() > most) cuts.erase(cuts.begin());
  return cuts;
}

std::set<std::int64_t> rows_of(const FakeKernels& kernels, std::size_t kernel,
                               const ProductShape& shape, std::int64_t m, std::int64_t n,
                               std::size_t most) {
  const MicroKernel block = kernels[kernel];
  return cuts_of(m, block.m, shape.batch * up(n, block.n), kernels.units(), most);
}

std::set<std::int64_t> columns_of(const FakeKernels& kernels, std::size_t kernel,
                                  const ProductShape& shape, std::int64_t m, std::int64_t n,
                                  std::size_t most) {
  const MicroKernel block = kernels[kernel];
  if (block.n % 16 != 0) return {};
  return cuts_of(n, block.n, shape.batch * up(m, block.m), kernels.units(), most);
}

// A rest in one region, or, of all nine patterns, in two along an axis.
double rest_seconds(const FakeKernels& kernels, const ProductShape& shape, std::int64_t m,
                    std::int64_t n, bool nine, bool along_m, bool along_n) {
  double least = best_of_region(kernels, shape, m, n);
  for (std::size_t second = 0; nine && second < kernels.size(); ++second) {
    if (along_m) {
      for (const std::int64_t cut : rows_of(kernels, second, shape, m, n, 1))
        least = std::min(least, region_seconds(kernels, second, shape, cut, n) +
                                    best_of_region(kernels, shape, m - cut, n));
    }
    if (along_n) {
      for (const std::int64_t cut : columns_of(kernels, second, shape, m, n, 1))
        least = std::min(least, region_seconds(kernels, second, shape, m, cut) +
                                    best_of_region(kernels, shape, m, n - cut));
    }
  }
  return least;
}

double least_of_all(const FakeKernels& kernels, const ProductShape& shape, bool nine) {
  const std::int64_t all_m = shape.m, all_n = shape.n;
  double least = best_of_region(kernels, shape, all_m, all_n);
  const auto best = [&](std::int64_t m, std::int64_t n) {
    return best_of_region(kernels, shape, m, n);
  };
  for (std::size_t first = 0; first < kernels.size(); ++first) {
    for (const std::int64_t m : rows_of(kernels, first, shape, all_m, all_n, 4)) {
      least = std::min(least, region_seconds(kernels, first, shape, m, all_n) +
                                  rest_seconds(kernels, shape, all_m - m, all_n, nine, true, true));
    }
    if (!nine) continue;
    for (const std::int64_t n : columns_of(kernels, first, shape, all_m, all_n, 2)) {
      least =
          std::min(least, region_seconds(kernels, first, shape, all_m, n) +
                              rest_seconds(kernels, shape, all_m, all_n - n, nine, true, false));
    }
    for (const std::int64_t n : columns_of(kernels, first, shape, all_m, all_n, 1)) {
      for (const std::int64_t m : rows_of(kernels, first, shape, all_m, n, 2)) {
        const double own = region_seconds(kernels, first, shape, m, n);
        least = std::min(least, own + best(m, all_n - n) + best(all_m - m, all_n));
        least = std::min(least, own + best(all_m - m, n) + best(all_m, all_n - n));
        least = std::min(
            least, own + best(m, all_n - n) + best(all_m - m, n) + best(all_m - m, all_n - n));
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
  const auto policy = make_paper_policy(Policy::MikPoly, kernels, {Regions::Two, 16});
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
  CHECK(make_paper_policy(Policy::MikPoly, kernels, {Regions::Whole, 16})
            ->choose(shape)
            .seconds.value() == doctest::Approx(448));
}

TEST_CASE("mikpoly counts steps of the reduction that are not full as whole ones") {
  const FakeKernels kernels(1, {{.block = {8, 16, 32}, .fixed = 3, .step = 2}});
  const auto policy = make_paper_policy(Policy::MikPoly, kernels, {Regions::Two, 16});
  CHECK(policy->choose({1, 8, 16, 33}).seconds.value() == doctest::Approx(3 + 2 * 2));
  CHECK(policy->choose({1, 8, 16, 0}).seconds.value() == doctest::Approx(3));
  CHECK(policy->choose({2, 9, 17, 1}).seconds.value() == doctest::Approx(2 * 2 * 2 * (3 + 2)));
}

TEST_CASE("mikpoly's bounds leave out nothing that is cheaper") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (const bool nine : {false, true}) {
    int cut = 0, three = 0;
    for (int round = 0; round < (nine ? 25 : 60); ++round) {
      const FakeKernels kernels = random_kernels(random, 16);
      const auto policy =
          make_paper_policy(Policy::MikPoly, kernels, {nine ? Regions::Any : Regions::Two, 16});
      for (int i = 0; i < 12; ++i) {
        const ProductShape shape = random_shape(random, i < 8 ? 600 : 3000);
        CAPTURE(nine);
        CAPTURE(round);
        CAPTURE(shape.batch);
        CAPTURE(shape.m);
        CAPTURE(shape.n);
        CAPTURE(shape.k);
        const KernelProgram chosen = policy->choose(shape);
        cut += chosen.regions.size() >= 2;
        three += chosen.regions.size() >= 3;
        const double least = least_of_all(kernels, shape, nine);
        // Covers of nine patterns that gain less than 1 % may be left out.
        CHECK(chosen.seconds.value() >= least * (1 - 1e-12));
        CHECK(chosen.seconds.value() <= least * (nine ? 1.0100001 : 1 + 1e-12));
        double sum = 0;
        for (const KernelRegion& region : chosen.regions)
          sum += region_seconds(kernels, region.kernel, shape, region.m, region.n);
        CHECK(sum == doctest::Approx(chosen.seconds.value()).epsilon(1e-12));
      }
    }
    CHECK(cut > 20);
    CHECK((three > 3) == nine);
    MESSAGE(cut << " shapes are best in several regions, " << three << " in three or four");
  }
}

TEST_CASE("mikpoly's variants count waves alone, or one pipelined task of each region") {
  // 4 units. Kernel 0: 6 tasks of 10 seconds, two waves; kernel 1: 12 of 3, three; kernel 2: 3 of
  // 40, one.
  const FakeKernels kernels(4, {{.block = {32, 32, 8}, .step = 1},
                                {.block = {16, 32, 8}, .step = 0.3},
                                {.block = {32, 64, 8}, .step = 4}});
  const ProductShape shape{1, 96, 64, 80};
  const auto chosen = [&](Policy policy) {
    return make_paper_policy(policy, kernels, {Regions::Any, 16})->choose(shape);
  };
  CHECK(chosen(Policy::MikPoly).regions.front().kernel == 1);
  CHECK(chosen(Policy::MikPoly).seconds.value() == doctest::Approx(9));
  CHECK(chosen(Policy::MikPolyWave).regions == std::vector{KernelRegion{0, 96, 0, 64, 2}});
  CHECK(chosen(Policy::MikPolyWave).merit == -1);
  CHECK_FALSE(chosen(Policy::MikPolyWave).seconds);
  CHECK(chosen(Policy::MikPolyPipe).regions == std::vector{KernelRegion{0, 96, 0, 64, 1}});
  CHECK(chosen(Policy::MikPolyPipe).merit == doctest::Approx(-3));
}
