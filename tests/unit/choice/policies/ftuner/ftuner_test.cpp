// FTuner's combinations and its score.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

constexpr std::int64_t panel = 16;

std::unique_ptr<const PaperPolicy> ftuner(const MicroKernels& kernels,
                                          Regions regions = Regions::Two) {
  return make_paper_policy(Policy::FTuner, kernels, {regions, panel});
}

// True where kernels of one or two extents cover an axis with nothing left, found by trying all
// counts.
bool can_cover(std::int64_t extent, const std::vector<std::int64_t>& extents, std::int64_t border) {
  for (const std::int64_t first : extents) {
    for (const std::int64_t second : extents) {
      for (std::int64_t at = 0; at <= extent; at += first) {
        if ((extent - at) % second == 0 && (at == 0 || at == extent || at % border == 0))
          return true;
      }
    }
  }
  return false;
}

bool pads(const FakeKernels& kernels, const KernelProgram& program, bool along_m) {
  return std::ranges::any_of(program.regions, [&](const KernelRegion& region) {
    const MicroKernel block = kernels[region.kernel];
    return along_m ? region.m % block.m != 0 : region.n % block.n != 0;
  });
}

double by_hand(const FakeKernels& kernels, std::size_t kernel, std::int64_t batch, std::int64_t m,
               std::int64_t n, std::int64_t k) {
  const auto part = [](std::int64_t wanted, std::int64_t block) {
    return wanted == 0 ? 1.0
                       : static_cast<double>(wanted) /
                             static_cast<double>((wanted + block - 1) / block * block);
  };
  const MicroKernel block = kernels[kernel];
  const std::int64_t blocks = batch * ((m + block.m - 1) / block.m) * ((n + block.n - 1) / block.n);
  const double ratio = kernels.compute_to_memory(kernel, k);
  return ratio / (1 + ratio) + part(m, block.m) * part(n, block.n) * part(k, block.k) +
         part(blocks, kernels.units());
}

// Algorithm 2 to the letter, along one axis: the best score of one kernel that divides it, or of
// two; 0: there is none.
double most_along(const FakeKernels& kernels, const ProductShape& shape, bool rows) {
  const std::int64_t extent = rows ? shape.m : shape.n;
  const auto size = [&](std::size_t kernel) {
    return rows ? kernels[kernel].m : kernels[kernel].n;
  };
  const auto score = [&](std::size_t kernel, std::int64_t part) {
    return by_hand(kernels, kernel, shape.batch, rows ? part : shape.m, rows ? shape.n : part,
                   shape.k);
  };
  double most = 0;
  for (std::size_t first = 0; first < kernels.size(); ++first) {
    if (extent % size(first) == 0) {
      most = std::max(most, score(first, extent));
      continue;
    }
    for (std::size_t second = 0; second < kernels.size(); ++second) {
      std::int64_t at = size(first);
      while (at < extent && ((extent - at) % size(second) != 0 || (!rows && at % panel != 0)))
        at += size(first);
      if (at < extent && size(first) != size(second))
        most = std::max(most, (score(first, at) + score(second, extent - at)) / 2);
    }
  }
  return most;
}

}  // namespace

TEST_CASE("ftuner covers 53 as 3 x 7 + 4 x 8") {
  const FakeKernels kernels(2,
                            {{.block = {7, 16, 1}, .ratio = 1}, {.block = {8, 16, 1}, .ratio = 3}});
  const ProductShape shape{1, 53, 32, 9};
  const std::vector<KernelProgram> programs = all_programs(*ftuner(kernels), shape);
  // 4 x 8 + 3 x 7 is as good, and no better.
  REQUIRE(programs.size() == 1);
  CHECK(programs[0].regions == std::vector<KernelRegion>{{0, 21, 0, 32, 0}, {21, 32, 0, 32, 1}});
  // CMR 1/2 and 3/4; nothing is padded; 6 and 8 blocks on 2 units leave none of them idle.
  CHECK(programs[0].merit == doctest::Approx((2.5 + 2.75) / 2));
  CHECK_FALSE(programs[0].seconds);
  CHECK(ftuner(kernels)->choose(shape).regions == programs[0].regions);
}

TEST_CASE("ftuner's score of one kernel: compute over memory, padding, occupancy") {
  const FakeKernels kernels(4, {{.block = {16, 32, 8}, .ratio = 4}});
  // The longer axis is M, 5 blocks of 16: nothing to pad there. 48 of 64 columns; 20 of 24 terms.
  // 10 blocks on places for 12.
  const KernelProgram chosen = ftuner(kernels)->choose({1, 80, 48, 20});
  CHECK(chosen.merit == doctest::Approx(0.8 + 0.75 * 20 / 24 + 10 / 12.0));
  CHECK(chosen.regions == std::vector<KernelRegion>{{0, 80, 0, 48, 0}});
}

TEST_CASE("ftuner takes the longer axis, at borders of panels, then the other one, then pads") {
  const FakeKernels kernels(1, {{.block = {16, 32, 1}}, {.block = {24, 48, 1}}});
  // 80 = 32 + 48 columns; rows are padded.
  const std::vector<KernelProgram> wide = all_programs(*ftuner(kernels), {1, 50, 80, 4});
  REQUIRE(wide.size() == 1);
  CHECK(wide[0].regions == std::vector<KernelRegion>{{0, 50, 0, 32, 0}, {0, 50, 32, 48, 1}});
  // No sum of 32 and 48 is 81, but 48 rows are 2 x 24 or 3 x 16.
  const std::vector<KernelProgram> other = all_programs(*ftuner(kernels), {1, 48, 81, 4});
  REQUIRE(other.size() == 2);
  CHECK(other[0].regions.size() == 1);
  const std::vector<KernelProgram> padded = all_programs(*ftuner(kernels), {1, 50, 81, 4});
  REQUIRE(padded.size() == 2);
  CHECK(padded[0].merit == doctest::Approx(0.5 + 50 * 81 / (64.0 * 96) + 1));
  // Taken whole, 40 rows are padded: no kernel divides them, and there is no other.
  CHECK(all_programs(*ftuner(kernels), {1, 40, 30, 4}).front().regions.size() == 2);
  CHECK(all_programs(*ftuner(kernels, Regions::Whole), {1, 40, 30, 4}).front().regions.size() == 1);
}

TEST_CASE(
    "ftuner's borders between columns are at panels, also where kernels are not as wide as "
    "panels") {
  const FakeKernels kernels(1, {{.block = {16, 24, 1}}, {.block = {16, 16, 1}}});
  // 88 = 24 + 4 x 16 and 3 x 24 + 16, with borders at 24 and 72; the other way round 16 + 3 x 24.
  const std::vector<KernelProgram> programs = all_programs(*ftuner(kernels), {1, 5, 88, 4});
  REQUIRE(programs.size() == 1);
  CHECK(programs[0].regions == std::vector<KernelRegion>{{0, 5, 0, 16, 1}, {0, 5, 16, 72, 0}});
}

TEST_CASE(
    "ftuner pads nothing along one axis wherever two kernels can cover it, and considers the best "
    "pair") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  int covered = 0;
  for (int round = 0; round < 40; ++round) {
    const FakeKernels kernels = random_kernels(random, panel);
    std::vector<std::int64_t> rows, columns;
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      rows.push_back(kernels[kernel].m);
      columns.push_back(kernels[kernel].n);
    }
    const auto policy = ftuner(kernels);
    for (int i = 0; i < 10; ++i) {
      const ProductShape shape = random_shape(random, 400);
      const bool by_rows = can_cover(shape.m, rows, 1),
                 by_columns = can_cover(shape.n, columns, panel);
      const bool along_m = shape.m >= shape.n ? by_rows : by_rows && !by_columns;
      CAPTURE(shape.m);
      CAPTURE(shape.n);
      if (!by_rows && !by_columns) continue;
      ++covered;
      for (const KernelProgram& program : all_programs(*policy, shape))
        CHECK_FALSE(pads(kernels, program, along_m));
      CHECK(policy->choose(shape).merit ==
            doctest::Approx(most_along(kernels, shape, along_m)).epsilon(1e-12));
    }
  }
  CHECK(covered > 20);
}
